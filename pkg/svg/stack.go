// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package svg

// Stack is a bar of segments.
type Stack struct {
	Name     string
	Segments []float64
}

// Stacks draws one bar per row. names are the names of the segments, in the order of Segment's styles.
func Stacks(title, axis string, names []string, stacks []Stack) string {
	var c canvas
	const barHeight, rowHeight, plotWidth, perRow = 26.0, 42.0, 560.0, 3
	left, most := 40.0, 0.0
	for _, s := range stacks {
		left = max(left, 24+textWidth(s.Name))
		sum := 0.0
		for _, v := range s.Segments {
			sum += v
		}
		most = max(most, sum)
	}
	c.text("title", "start", 16, 26, title)
	cell, y := 0.0, 50.0
	for _, name := range names {
		cell = max(cell, 34+textWidth(name))
	}
	for i, name := range names {
		c.legend(16+float64(i%perRow)*cell, y+float64(i/perRow)*18, []Entry{{name, Segment(i)}})
	}
	top := y + float64((len(names)+perRow-1)/perRow)*18 + 4
	t := ticks(0, most, 6)
	x := scale{min: 0, max: t[len(t)-1], from: left, to: left + plotWidth}
	bottom := top + rowHeight*float64(len(stacks))
	for _, v := range t {
		c.line("grid", x.at(v), top, x.at(v), bottom)
		c.text("small", "middle", x.at(v), bottom+16, label(v))
	}
	c.text("", "middle", left+plotWidth/2, bottom+36, axis)
	for i, s := range stacks {
		y := top + rowHeight*float64(i) + (rowHeight-barHeight)/2
		c.text("", "end", left-10, y+barHeight/2+4, s.Name)
		at := 0.0
		for j, v := range s.Segments {
			c.add(`<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.0f"/>`, Segment(j), x.at(at), y, x.at(at+v)-x.at(at), barHeight)
			at += v
		}
	}
	return c.finish(max(left+plotWidth+40, 16+perRow*cell), bottom+50, title)
}
