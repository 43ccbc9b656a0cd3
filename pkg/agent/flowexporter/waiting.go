// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowexporter

// maxWaiting is the number of reports that wait for a reading: as many connections as a kernel tracks by default. It is
// reached only while readings fail.
const maxWaiting = 1 << 18

// waiting are reports that no reading has taken over.
type waiting[T any] struct {
	reports []T
	// lost is the number of reports for which there was no room since the last reading.
	lost int
}

func (w *waiting[T]) add(report T) {
	if len(w.reports) == maxWaiting {
		w.lost++
		return
	}
	w.reports = append(w.reports, report)
}

// take returns the reports, and how many were lost before that.
func (w *waiting[T]) take() (reports []T, lost int) {
	reports, lost = w.reports, w.lost
	w.reports, w.lost = nil, 0
	return reports, lost
}
