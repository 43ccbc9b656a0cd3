// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/antrea-oncache/antrea/test/bench/guard"

// limits are the highest instructions per round trip that pass, 0 where there is no band.
type limits [rowCount][protocolCount]float64

// limitsOf reads the limits from bands. A row that is in the results of several networks has the lowest one.
func limitsOf(bands []guard.Band) (l limits) {
	for r := range rowCount {
		for p := range protocolCount {
			for _, band := range bands {
				if concerns(band, r, p) && (l[r][p] == 0 || band.Limit < l[r][p]) {
					l[r][p] = band.Limit
				}
			}
		}
	}
	return l
}

// concerns reports whether a band is about the number in this cell of the table: whether the band's value changes with the cell.
func concerns(band guard.Band, r row, p protocol) bool {
	const others, cell = 1, 2
	var all table
	for r := range all {
		for p := range all[r] {
			all[r][p] = others
		}
	}
	all[r][p] = cell
	for _, result := range all.results() {
		m := result.Metric(band.Metric)
		if m == nil || result.Key() != band.Key || band.To != "" || !band.Less {
			continue
		}
		if samples := m.Samples[band.State]; len(samples) > 0 && samples[0] == cell {
			return true
		}
	}
	return false
}
