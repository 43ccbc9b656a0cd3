// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package svg draws the plots of the benchmarks' report and of antctl check performance. It exists because they need one
// thing that Go's plotting libraries lack, colors that follow the reader's light or dark theme, and few of their other
// features.
//
// svg.go contains the canvas and the colors, axis.go scales and ticks, lines.go curves with error bars, dots.go ratios
// with their spread, stack.go sums of segments, bars.go labeled values.
package svg

import (
	"fmt"
	"html"
	"strings"
)

// Style is a color that follows the reader's theme, by role.
type Style string

// Roles. Segment styles are numbered: Segment(0) to Segment(Segments-1).
const (
	Bare    Style = "bare"
	Off     Style = "off"
	On      Style = "on"
	Rewrite Style = "rewrite"
	Paper   Style = "paper"
	Cilium  Style = "cilium"

	// PaperBare is bare metal in the paper; PaperRange a range for which the paper has no single values.
	PaperBare  Style = "paperbare"
	PaperRange Style = "paperrange"
)

// Segments is the number of segment styles.
const Segments = 12

// Segment is one of the styles for parts of a whole. A picture with more parts would have two of one color, so there is no style for them.
func Segment(i int) Style {
	if i < 0 || i >= Segments {
		panic(fmt.Sprintf("segment %d: there are colors for %d, add one to the theme", i, Segments))
	}
	return Style(fmt.Sprintf("seg%d", i))
}

// theme has the colors; the palette is distinguishable with the usual kinds of color blindness (Okabe and Ito, 2008).
const theme = `
text { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: #1f2328 }
.title { font-size: 15px; font-weight: 600 }
.panel { font-weight: 600 }
.small { font-size: 11px; fill: #59636e }
.bg { fill: #ffffff }
.grid { stroke: #d1d9e0; stroke-width: 1 }
.axis { stroke: #818b98; stroke-width: 1 }
.rule { stroke: #59636e; stroke-width: 1; stroke-dasharray: 4 3 }
.line { fill: none; stroke-width: 2 }
.whisker { stroke-width: 1.5 }
.bare { stroke: #6e7781; fill: #6e7781 } .off { stroke: #d55e00; fill: #d55e00 } .on { stroke: #0072b2; fill: #0072b2 }
.rewrite { stroke: #cc79a7; fill: #cc79a7 } .cilium { stroke: #c3ccd5; fill: #c3ccd5 } .range { stroke: #1f2328; stroke-width: 1.5 }
.paper { stroke: #009e73; fill: none; stroke-width: 2 } .paperbare { stroke: #6e7781; fill: none; stroke-width: 2 }
.paperrange { stroke: #009e73; fill: #009e73; fill-opacity: 0.3; stroke-width: 1 }
.hollow { fill: none }
.seg0 { fill: #8da0b3 } .seg1 { fill: #0072b2 } .seg2 { fill: #e69f00 } .seg3 { fill: #009e73 } .seg4 { fill: #d55e00 }
.seg5 { fill: #cc79a7 } .seg6 { fill: #56b4e9 } .seg7 { fill: #b8a800 } .seg8 { fill: #7a5195 } .seg9 { fill: #c3ccd5 }
.seg10 { fill: #8c564b } .seg11 { fill: #a6d854 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .small { fill: #9aa4af } .bg { fill: #0d1117 } .grid { stroke: #30363d } .axis { stroke: #7d8590 } .rule { stroke: #9aa4af }
.bare { stroke: #a8b1bb; fill: #a8b1bb } .off { stroke: #f0883e; fill: #f0883e } .on { stroke: #58a6ff; fill: #58a6ff }
.rewrite { stroke: #e39ac3; fill: #e39ac3 } .cilium { stroke: #57606a; fill: #57606a } .range { stroke: #e6edf3 }
.paper { stroke: #3fb98c; fill: none } .paperbare { stroke: #a8b1bb } .paperrange { stroke: #3fb98c; fill: #3fb98c } .hollow { fill: none }
}`

// canvas collects elements.
type canvas struct {
	body strings.Builder
}

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(&c.body, format+"\n", args...) }

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	c.add(`<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, class, x1, y1, x2, y2)
}

// text writes at a point; anchor is start, middle or end.
func (c *canvas) text(class, anchor string, x, y float64, text string) {
	c.add(`<text class="%s" text-anchor="%s" x="%.1f" y="%.1f">%s</text>`, class, anchor, x, y, html.EscapeString(text))
}

// vertical writes text that is read from bottom to top.
func (c *canvas) vertical(class string, x, y float64, text string) {
	c.add(`<text class="%s" text-anchor="middle" transform="translate(%.1f %.1f) rotate(-90)">%s</text>`, class, x, y, html.EscapeString(text))
}

// legend writes the names of styles in a row from x, each with its mark.
func (c *canvas) legend(x, y float64, entries []Entry) {
	for _, e := range entries {
		c.mark(e.Style, x+6, y-4)
		c.text("", "start", x+16, y, e.Name)
		x += 34 + textWidth(e.Name)
	}
}

// Entry is one name of a legend.
type Entry struct {
	Name  string
	Style Style
}

// mark draws a data point: circles, diamonds for the paper, crosses for its bare metal, oblongs for its ranges, squares for segments.
func (c *canvas) mark(s Style, x, y float64) {
	switch {
	case s == Paper:
		c.add(`<path class="paper" d="M%.1f %.1f l5 5 l-5 5 l-5 -5 z"/>`, x, y-5)
	case s == PaperBare:
		c.add(`<path class="paperbare" d="M%.1f %.1f l10 10 m0 -10 l-10 10"/>`, x-5, y-5)
	case s == PaperRange:
		c.add(`<rect class="%s" x="%.1f" y="%.1f" width="14" height="8"/>`, s, x-7, y-4)
	case strings.HasPrefix(string(s), "seg"):
		c.add(`<rect class="%s" x="%.1f" y="%.1f" width="10" height="10"/>`, s, x-5, y-5)
	default:
		c.add(`<circle class="%s" cx="%.1f" cy="%.1f" r="3.5"/>`, s, x, y)
	}
}

// textWidth estimates the width of a text in pixels at the usual size.
func textWidth(text string) float64 { return 6.6 * float64(len([]rune(text))) }

// finish makes a document. Screen readers also read title.
func (c *canvas) finish(width, height float64, title string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">
<style>%s</style>
<rect class="bg" width="%.0f" height="%.0f" rx="6"/>
%s</svg>
`, width, height, width, height, html.EscapeString(title), theme, width, height, c.body.String())
}
