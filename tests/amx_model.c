/* SPDX-License-Identifier: Apache-2.0 */
/* See amx_model.h. Sums are taken in double and rounded to odd, which can be rounded once more to
 * 24 bits without error (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums"); the
 * exponent stays unbounded until it is known whether the result is too small for a normal f32. */
#include "tests/amx_model.h"

#include <math.h>
#include <string.h>

#define DROPPED_BITS 29 /* of a double's 52, for a float's 23 */

static uint64_t bits_of(double x) {
    uint64_t ret;
    memcpy(&ret, &x, sizeof ret);
    return ret;
}

static double of_bits(uint64_t bits) {
    double ret;
    memcpy(&ret, &bits, sizeof ret);
    return ret;
}

static double without_denormals(float x) {
    return fabsf(x) < 0x1p-126f ? copysign(0.0, (double)x) : (double)x;
}

/* p + c, its last bit set where it is not exact. */
static double sum_to_odd(double p, double c) {
    const double sum = p + c;
    if (!isfinite(sum) || sum == 0)
        return sum;
    const double back = sum - p, error = (p - (sum - back)) + (c - back);
    if (error == 0 || bits_of(sum) & 1)
        return sum;
    return of_bits((error > 0) == (sum > 0) ? bits_of(sum) + 1 : bits_of(sum) - 1);
}

/* To nearest even of 24 bits, with any exponent. */
static double round_to_24_bits(double x) {
    const uint64_t bits = bits_of(x), dropped = (UINT64_C(1) << DROPPED_BITS) - 1;
    return of_bits((bits + dropped / 2 + (bits >> DROPPED_BITS & 1)) & ~dropped);
}

float amx_model_fma(float a, float b, float c) {
    const double product = without_denormals(a) * without_denormals(b);
    const double sum = sum_to_odd(product, without_denormals(c));
    if (!isfinite(sum))
        return (float)sum;
    const double rounded = round_to_24_bits(sum);
    if (fabs(rounded) < 0x1p-126)
        return (float)copysign(0.0, rounded);
    return fabs(rounded) >= 0x1p128 ? (float)copysign(INFINITY, rounded) : (float)rounded;
}

static float from_bf16(uint32_t half) {
    const uint32_t bits = half << 16;
    float ret;
    memcpy(&ret, &bits, sizeof ret);
    return ret;
}

static float add(float a, float b) {
    return amx_model_fma(a, 1.0f, b);
}

float amx_model_bf16(float c, const uint32_t *a, const uint32_t *b, int64_t b_stride, int pairs) {
    float chain[2] = {0, 0};
    for (int k = 0; k < pairs; k++)
        for (int odd = 0; odd < 2; odd++)
            chain[odd] = amx_model_fma(from_bf16(a[k] >> 16 * odd & 0xffff),
                                       from_bf16(b[k * b_stride] >> 16 * odd & 0xffff), chain[odd]);
    return add(c, add(chain[0], chain[1]));
}

static int64_t byte_value(uint32_t word, int index, bool is_signed) {
    const int64_t byte = word >> 8 * index & 255;
    return is_signed && byte >= 128 ? byte - 256 : byte;
}

int32_t amx_model_i8(int32_t c, const uint32_t *a, const uint32_t *b, int64_t b_stride, int fours,
                     bool a_signed, bool b_signed) {
    int64_t sum = c;
    for (int k = 0; k < fours; k++)
        for (int i = 0; i < 4; i++)
            sum += byte_value(a[k], i, a_signed) * byte_value(b[k * b_stride], i, b_signed);
    return (int32_t)(uint32_t)(uint64_t)sum;
}

float amx_model_chain(float c, const uint16_t *a, const uint16_t *b, int64_t k, int64_t k_block) {
    for (int64_t begin = 0; begin < k; begin += k_block) {
        const int64_t end = begin + k_block < k ? begin + k_block : k;
        float chain[2] = {0, 0};
        for (int64_t i = begin; i < end; i++)
            chain[i % 2] = amx_model_fma(from_bf16(a[i]), from_bf16(b[i]), chain[i % 2]);
        for (int odd = 0; odd < 2 && end < begin + k_block; odd++) /* zeros to the block's end */
            chain[odd] = add(chain[odd], 0);
        c = add(c, add(chain[0], chain[1]));
    }
    return c;
}
