// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package svg

import "math"

// Ratio is a ratio with its spread, and the paper's value.
type Ratio struct {
	Name           string
	Value          float64 // 0 for none
	Low, High      float64
	Style          Style
	Paper          float64 // 0 for none
	NotSignificant bool    // drawn hollow
}

// Ratios draws ratios on a logarithmic axis around 1, one per row.
func Ratios(title, axis string, legend []Entry, ratios []Ratio) string {
	var c canvas
	const rowHeight, plotWidth, top = 22.0, 420.0, 78.0
	left := 40.0
	low, high := 0.9, 1.1
	for _, r := range ratios {
		left = max(left, 24+textWidth(r.Name))
		for _, v := range []float64{r.Value, r.Paper} {
			if v > 0 {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	// Whiskers may leave the plot; values do not.
	low, high = math.Floor(low*10-0.5)/10, math.Ceil(high*10+0.5)/10
	low = max(low, 0.1)
	x := scale{min: low, max: high, log: true, from: left, to: left + plotWidth}
	bottom := top + rowHeight*float64(len(ratios))
	c.text("title", "start", 16, 26, title)
	c.legend(16, 50, legend)
	for _, t := range ratioTicks(low, high) {
		c.line("grid", x.at(t), top-6, x.at(t), bottom)
		c.text("small", "middle", x.at(t), bottom+16, label(t))
	}
	c.line("rule", x.at(1), top-6, x.at(1), bottom)
	c.text("", "middle", left+plotWidth/2, bottom+36, axis)
	for i, r := range ratios {
		y := top + rowHeight*(float64(i)+0.5)
		c.text("", "end", left-10, y+4, r.Name)
		if r.Value > 0 {
			c.line("whisker "+string(r.Style), x.at(max(r.Low, low)), y, x.at(min(r.High, high)), y)
			style := string(r.Style)
			if r.NotSignificant {
				style += " hollow"
				c.add(`<circle class="bg" cx="%.1f" cy="%.1f" r="4"/>`, x.at(r.Value), y)
			}
			c.add(`<circle class="%s" cx="%.1f" cy="%.1f" r="4"/>`, style, x.at(r.Value), y)
		}
		if r.Paper > 0 {
			c.mark(Paper, x.at(r.Paper), y)
		}
	}
	return c.finish(max(left+plotWidth+30, 40+1.3*textWidth(title)), bottom+50, title)
}

// ratioTicks returns round factors within a range, more of them in a narrow one.
func ratioTicks(low, high float64) (out []float64) {
	all := []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 10}
	if high < 1.8*low {
		all = []float64{0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.35, 1.4, 1.5, 1.6, 1.7}
	}
	for _, t := range all {
		if t >= low && t <= high {
			out = append(out, t)
		}
	}
	return out
}
