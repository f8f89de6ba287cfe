/* SPDX-License-Identifier: Apache-2.0 */
/* Shows what was read: as JSON, as a web page that needs nothing from elsewhere, or as boxes
 * painted over the picture. */
#include "tools/examples/ocr/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void write_escaped(FILE *file, const char *text, const char *special) {
    for (; *text; text++)
        if (strchr(special, *text) || (unsigned char)*text < ' ')
            fprintf(file, *special == '"' ? "\\u%04x" : "&#%d;", *text);
        else
            fputc(*text, file);
}

void page_write_json(const struct page *page) {
    for (size_t i = 0; i < page->lines; i++) {
        const struct point *p = page->line[i].box.corner;
        printf(
            "{\"box\": [[%.0f, %.0f], [%.0f, %.0f], [%.0f, %.0f], [%.0f, %.0f]], \"score\": %.4f, "
            "\"text\": \"",
            p[0].x, p[0].y, p[1].x, p[1].y, p[2].x, p[2].y, p[3].x, p[3].y, page->line[i].score);
        write_escaped(stdout, page->line[i].text, "\"\\");
        printf("\"}\n");
    }
}

/* ---- a web page ---- */

static const char style[] =
    ":root{--ground:#f4f5f7;--sheet:#fff;--ink:#1c2128;--soft:#5d6775;--edge:#dfe3e8;--mark:#"
    "0b6bcb}\n"
    "@media(prefers-color-scheme:dark){:root{--ground:#11151a;--sheet:#1a2027;--ink:#e6e9ed;"
    "--soft:#9aa5b4;--edge:#2d3640;--mark:#5cb0ff}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:80rem;padding:2rem 1.25rem;background:var(--ground);"
    "color:var(--ink);font:1rem/1.5 system-ui,sans-serif}\n"
    "h1{font-size:1.25rem;margin:0;overflow-wrap:anywhere}\n"
    "header p{margin:.25rem 0 1.5rem;color:var(--soft)}\n"
    "main{display:grid;gap:1.25rem;align-items:start;"
    "grid-template-columns:minmax(0,3fr) minmax(0,2fr)}\n"
    "@media(max-width:50rem){main{grid-template-columns:minmax(0,1fr)}}\n"
    "svg,ol{background:var(--sheet);border:1px solid var(--edge);border-radius:.5rem}\n"
    "svg{display:block;width:100%;height:auto}\n"
    "polygon{fill:#0b6bcb1a;stroke:#0b6bcb;stroke-width:1.5;vector-effect:non-scaling-stroke}\n"
    "polygon.on{fill:#0b6bcb40;stroke-width:3}\n"
    "ol{margin:0;padding:.5rem 0;list-style:none;counter-reset:line}\n"
    "li{counter-increment:line;display:flex;gap:.75rem;padding:.3rem 1rem;overflow-wrap:anywhere}\n"
    "li::before{content:counter(line);min-width:1.5rem;text-align:right;color:var(--soft)}\n"
    "li span{flex:1;min-width:0}\n"
    "li small{color:var(--soft);font-variant-numeric:tabular-nums}\n"
    "li.on{background:var(--ground);box-shadow:inset 3px 0 var(--mark)}\n";

/* A line and its box are marked together. */
static const char script[] =
    "for(const e of document.querySelectorAll('[data-line]'))for(const [when,on] of "
    "[['mouseenter',true],['mouseleave',false]])e.addEventListener(when,()=>document."
    "querySelectorAll(`[data-line=\"${e.dataset.line}\"]`).forEach(x=>x.classList.toggle('on',on))"
    ")";

/* The picture's file as a data URL. */
static void write_data(FILE *to, FILE *from) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char b[3] = {0};
    int first = fgetc(from);
    ungetc(first, from);
    fprintf(to, "data:image/%s;base64,", first == 0xff ? "jpeg" : "png");
    for (size_t n; (n = fread(b, 1, 3, from)) > 0; memset(b, 0, 3)) {
        fputc(digit[b[0] >> 2], to);
        fputc(digit[(b[0] & 3) << 4 | b[1] >> 4], to);
        fputc(n > 1 ? digit[(b[1] & 15) << 2 | b[2] >> 6] : '=', to);
        fputc(n > 2 ? digit[b[2] & 63] : '=', to);
    }
}

static void write_head(FILE *to, const struct page *page, const char *picture) {
    const char *name = strrchr(picture, '/');
    name = name ? name + 1 : picture;
    fprintf(to, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                "<meta name=\"color-scheme\" content=\"light dark\">\n<title>Text in ");
    write_escaped(to, name, "&<>'");
    fprintf(to, "</title>\n<style>\n%s</style>\n<header><h1>", style);
    write_escaped(to, name, "&<>'");
    fprintf(to,
            "</h1><p>%zu line%s &middot; detect %.1f ms &middot; classify %.1f ms &middot; "
            "recognize %.1f ms</p></header>\n<main>\n",
            page->lines, page->lines == 1 ? "" : "s", page->spent[0], page->spent[1],
            page->spent[2]);
}

static void write_boxes(FILE *to, const struct page *page, FILE *from) {
    fprintf(to, "<svg viewBox=\"0 0 %d %d\" role=\"img\"><image width=\"%d\" height=\"%d\" href=\"",
            page->width, page->height, page->width, page->height);
    write_data(to, from);
    fprintf(to, "\"/>\n");
    for (size_t i = 0; i < page->lines; i++) {
        fprintf(to, "<polygon data-line=\"%zu\" points=\"", i);
        for (int k = 0; k < 4; k++)
            fprintf(to, "%.0f,%.0f ", page->line[i].box.corner[k].x, page->line[i].box.corner[k].y);
        fprintf(to, "\"><title>");
        write_escaped(to, page->line[i].text, "&<>'");
        fprintf(to, "</title></polygon>\n");
    }
    fprintf(to, "</svg>\n");
}

/* What fails half way is removed, which no device or pipe should be. */
static bool may_write(const char *path) {
    struct stat status;
    if (stat(path, &status) || S_ISREG(status.st_mode))
        return true;
    fprintf(stderr, "ocr: %s: not a regular file\n", path);
    return false;
}

bool page_write_html(const struct page *page, const char *picture, const char *path) {
    if (!may_write(path))
        return false;
    FILE *from = fopen(picture, "rb"), *to = from ? fopen(path, "wb") : NULL;
    const char *missing = from ? path : picture;
    if (to) {
        write_head(to, page, picture);
        write_boxes(to, page, from);
        fprintf(to, "<ol>\n");
        for (size_t i = 0; i < page->lines; i++) {
            fprintf(to, "<li data-line=\"%zu\"><span>", i);
            write_escaped(to, page->line[i].text, "&<>'");
            fprintf(to, "</span><small>%.1f %%</small></li>\n", 100 * page->line[i].score);
        }
        fprintf(to, "</ol>\n</main>\n<script>%s</script>\n", script);
    }
    bool done = to && !ferror(to) && !ferror(from);
    done = (!to || !fclose(to)) && done;
    if (from)
        fclose(from);
    if (!done) {
        perror(missing);
        if (to)
            remove(path); /* half of a page */
    }
    return done;
}

/* ---- a picture ---- */

bool page_write_png(const struct page *page, const char *picture, const char *path) {
    struct picture canvas;
    if (!may_write(path) || !picture_read(picture, &canvas))
        return false;
    for (size_t i = 0; i < page->lines; i++)
        picture_outline(&canvas, page->line[i].box.corner);
    bool done = picture_write_png(&canvas, path);
    free(canvas.rgb);
    return done;
}
