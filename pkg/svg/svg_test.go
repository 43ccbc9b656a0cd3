// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package svg

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A range covers its categories, also without a point, and widens the axes.
func TestRange(t *testing.T) {
	p := Panel{
		Categories: true, Xs: []float64{1, 2, 4, 8}, Rule: 1,
		Ranges: []Range{{Style: PaperRange, From: 2, To: 8, Low: 1.5, High: 2}},
		Curves: []Curve{{Style: On, Points: []Point{{X: 1, Y: 0.5, Low: 0.5, High: 0.5}}}},
	}
	require.Equal(t, []float64{1, 2, 4, 8}, p.categories())
	x, y := p.scales(0, 336, 0, 200)
	require.Equal(t, 118.0, x.at(p.position(2)))
	require.Equal(t, 100.0, y.at(1))
	var c canvas
	p.draw(&c, 0, 0)
	x, y = p.scales(0, panelWidth, 0, panelHeight)
	require.Contains(t, c.body.String(), fmt.Sprintf(`<rect class="paperrange" x="%.1f" y="0.0" width="%.1f" height="50.0"/>`, x.at(1)-8, x.at(3)-x.at(1)+16))
	require.Contains(t, c.body.String(), fmt.Sprintf(`<line class="rule" x1="0.0" y1="%.1f" x2="%.1f" y2="%.1f"/>`, y.at(1), panelWidth, y.at(1)))
}

// A row can have only the paper's value.
func TestRatioOfThePaperOnly(t *testing.T) {
	draw := func(r Ratio) string {
		_, rows, found := strings.Cut(Ratios("title", "axis", nil, []Ratio{r}), ">row</text>")
		require.True(t, found)
		return rows
	}
	paper := draw(Ratio{Name: "row", Paper: 1.05})
	require.NotContains(t, paper, "<circle")
	require.NotContains(t, paper, "whisker")
	require.Equal(t, 1, strings.Count(paper, `class="paper"`))
	both := draw(Ratio{Name: "row", Paper: 1.05, Value: 1.04, Low: 1.01, High: 1.06, Style: On})
	require.Equal(t, 1, strings.Count(both, "<circle"))
	require.Equal(t, 1, strings.Count(both, `class="paper"`))
}

// A narrow axis has ticks with which differences of some percent can be read.
func TestRatioTicks(t *testing.T) {
	require.Equal(t, []float64{0.9, 0.95, 1, 1.05, 1.1}, ratioTicks(0.9, 1.1))
	require.Equal(t, []float64{0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.4}, ratioTicks(0.5, 1.5))
}

// Each segment has a color of its own, and a picture has no more segments than colors.
func TestSegmentColors(t *testing.T) {
	colors := map[string]Style{}
	for i := range Segments {
		rules := regexp.MustCompile(`\.`+string(Segment(i))+` \{ fill: (#[0-9a-f]{6}) \}`).FindAllStringSubmatch(theme, -1)
		require.Len(t, rules, 1, Segment(i))
		require.Empty(t, colors[rules[0][1]], Segment(i))
		colors[rules[0][1]] = Segment(i)
	}
	names := make([]string, Segments)
	for i := range names {
		names[i] = fmt.Sprint("part ", i)
	}
	picture := Stacks("title", "axis", names, []Stack{{Name: "row", Segments: make([]float64, Segments)}})
	for i := range Segments {
		require.Equal(t, 2, strings.Count(picture, fmt.Sprintf(`class="%s"`, Segment(i))), "in the legend and in the row")
	}
	require.Panics(t, func() { Stacks("title", "axis", append(names, "one more"), nil) })
}
