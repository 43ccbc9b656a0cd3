// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package svg

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Point is a value with its spread; Low and High are equal to Y for none.
type Point struct{ X, Y, Low, High float64 }

// Curve is the points of one style, by ascending X.
type Curve struct {
	Style  Style
	Points []Point
}

// Range says that values are somewhere between Low and High at each X from From to To.
type Range struct {
	Style     Style
	From, To  float64
	Low, High float64
}

// Panel is a plot with its own axes.
type Panel struct {
	Title, XLabel, YLabel string
	// Categories places points at equal distances, one per X, also Xs without a point; otherwise LogX chooses the
	// scale.
	Categories, LogX bool
	Xs               []float64
	// XName makes the text of a category; nil for the number.
	XName func(x float64) string
	// YMax is the end of the Y axis, 0 to fit what is drawn. The axis begins at 0.
	YMax float64
	// Rule is the value of a dashed line with which others are compared, 0 for none.
	Rule   float64
	Ranges []Range
	Curves []Curve
}

// Sizes of panels in pixels: the plot itself, and what is around it.
const (
	panelWidth, panelHeight                      = 300.0, 200.0
	marginLeft, marginRight, marginTop, marginBt = 66.0, 22.0, 30.0, 48.0
	headHeight                                   = 64.0
)

// Lines draws panels in rows of two, below one legend.
func Lines(title string, legend []Entry, panels []Panel) string {
	var c canvas
	const perRow = 2
	cellWidth, cellHeight := marginLeft+panelWidth+marginRight, marginTop+panelHeight+marginBt
	columns := min(perRow, len(panels))
	rows := (len(panels) + perRow - 1) / perRow
	c.text("title", "start", 16, 26, title)
	c.legend(16, 50, legend)
	for i, p := range panels {
		p.draw(&c, float64(i%perRow)*cellWidth+marginLeft, headHeight+float64(i/perRow)*cellHeight+marginTop)
	}
	width := max(float64(columns)*cellWidth+10, 40+1.3*textWidth(title))
	return c.finish(width, headHeight+float64(rows)*cellHeight+6, title)
}

func (p Panel) draw(c *canvas, left, top float64) {
	right, bottom := left+panelWidth, top+panelHeight
	c.text("panel", "start", left, top-12, p.Title)
	x, y := p.scales(left, right, top, bottom)
	for _, v := range ticks(y.min, y.max, 5) {
		if v > y.max*(1+1e-9) {
			continue
		}
		c.line("grid", left, y.at(v), right, y.at(v))
		c.text("small", "end", left-6, y.at(v)+4, label(v))
	}
	c.line("axis", left, bottom, right, bottom)
	for _, t := range p.xTicks(x) {
		c.line("axis", x.at(t), bottom, x.at(t), bottom+4)
		name := label(p.xValue(t))
		if p.XName != nil {
			name = p.XName(p.xValue(t))
		}
		c.text("small", "middle", x.at(t), bottom+17, name)
	}
	c.text("", "middle", (left+right)/2, bottom+36, p.XLabel)
	c.vertical("", left-50, (top+bottom)/2, p.YLabel)
	if p.Rule > 0 {
		c.line("rule", left, y.at(p.Rule), right, y.at(p.Rule))
	}
	for _, r := range p.Ranges {
		const beyond = 8.0 // so that it also has a width at a single X
		from, to := x.at(p.position(r.From))-beyond, x.at(p.position(r.To))+beyond
		c.add(`<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, r.Style, from, y.at(r.High), to-from, y.at(r.Low)-y.at(r.High))
	}
	for _, curve := range p.Curves {
		p.curve(c, curve, x, y)
	}
}

// position is the place of a point on the X axis: its category's number, or its value.
func (p Panel) position(v float64) float64 {
	if !p.Categories {
		return v
	}
	for i, c := range p.categories() {
		if c == v {
			return float64(i)
		}
	}
	return math.NaN()
}

func (p Panel) xValue(position float64) float64 {
	if !p.Categories {
		return position
	}
	return p.categories()[int(position)]
}

// categories are all X values, ascending.
func (p Panel) categories() []float64 {
	all := slices.Clone(p.Xs)
	for _, curve := range p.Curves {
		for _, pt := range curve.Points {
			all = append(all, pt.X)
		}
	}
	for _, r := range p.Ranges {
		all = append(all, r.From, r.To)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (p Panel) scales(left, right, top, bottom float64) (x, y scale) {
	low, high, most := math.Inf(1), math.Inf(-1), max(p.YMax, p.Rule)
	for _, curve := range p.Curves {
		for _, pt := range curve.Points {
			low, high = min(low, p.position(pt.X)), max(high, p.position(pt.X))
			if p.YMax == 0 {
				most = max(most, pt.High, pt.Y)
			}
		}
	}
	for _, v := range p.Xs {
		low, high = min(low, p.position(v)), max(high, p.position(v))
	}
	for _, r := range p.Ranges {
		low, high = min(low, p.position(r.From)), max(high, p.position(r.To))
		if p.YMax == 0 {
			most = max(most, r.High)
		}
	}
	x = scale{min: low, max: high, log: p.LogX && !p.Categories, from: left + 18, to: right - 18}
	if x.log {
		t := logTicks(low, high)
		x.min, x.max, x.from, x.to = t[0], t[len(t)-1], left, right
	}
	t := ticks(0, most, 5)
	return x, scale{min: 0, max: max(t[len(t)-1], most), from: bottom, to: top}
}

func (p Panel) xTicks(x scale) []float64 {
	switch {
	case p.Categories:
		all := p.categories()
		out := make([]float64, len(all))
		for i := range all {
			out[i] = float64(i)
		}
		return out
	case p.LogX:
		return logTicks(x.min, x.max)
	}
	return ticks(x.min, x.max, 5)
}

func (p Panel) curve(c *canvas, curve Curve, x, y scale) {
	var path []string
	for _, pt := range curve.Points {
		path = append(path, fmt.Sprintf("%.1f,%.1f", x.at(p.position(pt.X)), y.at(pt.Y)))
	}
	c.add(`<polyline class="line %s hollow" points="%s"/>`, curve.Style, strings.Join(path, " "))
	for _, pt := range curve.Points {
		px := x.at(p.position(pt.X))
		if pt.High > pt.Low {
			c.line("whisker "+string(curve.Style), px, y.at(pt.Low), px, y.at(min(pt.High, y.max)))
		}
		c.mark(curve.Style, px, y.at(pt.Y))
	}
}
