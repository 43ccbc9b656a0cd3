// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package svg

// Bar is a value with its label; Low and High are the ends of its whisker, which is drawn if they differ.
type Bar struct {
	Name, Label      string
	Style            Style
	Value, Low, High float64
}

// BarPanel is a group of bars with one scale, which begins at 0. Note, below the title, has the unit and the bed.
type BarPanel struct {
	Title, Note string
	Bars        []Bar
}

// Bars draws panels side by side, with notes below all of them. Each bar has its name and value, so there is no axis and no legend.
func Bars(title string, panels []BarPanel, notes []string) string {
	var c canvas
	const panelWidth, names, longest, rowHeight, barHeight, head = 440.0, 136.0, 190.0, 30.0, 18.0, 56.0
	rows := 0
	for i, p := range panels {
		left := panelWidth * float64(i)
		c.text("title", "start", left+16, 26, p.Title)
		c.text("small", "start", left+16, 44, p.Note)
		most := 0.0
		for _, b := range p.Bars {
			most = max(most, b.Value, b.High)
		}
		x := scale{max: most, from: left + names, to: left + names + longest}
		for j, b := range p.Bars {
			y := head + rowHeight*float64(j)
			middle := y + barHeight/2
			c.text("", "end", left+names-8, middle+4, b.Name)
			c.add(`<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.0f"/>`, b.Style, x.from, y, x.at(b.Value)-x.from, barHeight)
			end := x.at(b.Value)
			if b.High > b.Low {
				c.line("range", x.at(b.Low), middle, x.at(b.High), middle)
				c.line("range", x.at(b.Low), middle-4, x.at(b.Low), middle+4)
				c.line("range", x.at(b.High), middle-4, x.at(b.High), middle+4)
				end = max(end, x.at(b.High))
			}
			c.text("", "start", end+8, middle+4, b.Label)
		}
		rows = max(rows, len(p.Bars))
	}
	bottom := head + rowHeight*float64(rows) + 12
	for i, n := range notes {
		c.text("small", "start", 16, bottom+16*float64(i), n)
	}
	return c.finish(panelWidth*float64(len(panels)), bottom+16*float64(len(notes)), title)
}
