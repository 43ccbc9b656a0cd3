// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import "strings"

var (
	blocks = []rune(" ▁▂▃▄▅▆▇█")
	// asciiBlocks have growing areas of ink.
	asciiBlocks = []rune(" .:-=+*#@")
)

// sparkline draws the last values, one character each, the newest at the right end of width characters. The highest character is the
// maximum, which it returns; only 0 is a blank.
func sparkline(values []float64, width int, ascii bool) (line string, highest float64) {
	levels := blocks
	if ascii {
		levels = asciiBlocks
	}
	values = values[max(0, len(values)-width):]
	for _, v := range values {
		highest = max(highest, v)
	}
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", width-len(values)))
	for _, v := range values {
		level := 0
		if v > 0 {
			level = max(1, int(v/highest*float64(len(levels)-1)+0.5))
		}
		b.WriteRune(levels[level])
	}
	return b.String(), highest
}
