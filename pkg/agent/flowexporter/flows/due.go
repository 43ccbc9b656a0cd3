// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"cmp"
	"slices"
	"time"
)

// Due returns the records that are due: the first one of a connection at once, others after the timeouts, the last one when it has ended.
// They stay due until they are sent. Records of ended connections come first, then those that have waited longest.
func (l *Ledger) Due(now time.Time) []*Record {
	var records []*Record
	for _, f := range l.gone {
		if !f.EndSent || f.total() != f.Exported {
			records = append(records, f.record(ReasonEnd, f.Last))
		}
	}
	ended := len(records)
	for _, f := range l.flows {
		if reason, end := l.reason(f, now); reason != 0 {
			records = append(records, f.record(reason, end))
		}
	}
	slices.SortFunc(records[ended:], func(a, b *Record) int { return cmp.Or(a.flow.Sent.Compare(b.flow.Sent), a.Start.Compare(b.Start)) })
	return records
}

// reason returns why a record of a continuing connection is due, and until when it is valid; 0 if none is due.
func (l *Ledger) reason(f *flow, now time.Time) (reason Reason, until time.Time) {
	// The last record may be an earlier agent's, and the clock may have been set back since.
	fresh, waited := f.total() != f.Exported, now.Sub(f.Sent) >= l.timeouts.Active || now.Before(f.Sent)
	switch {
	case f.Closing && (!f.EndSent || fresh && waited):
		return ReasonEnd, f.Last
	case !f.Begun || fresh && waited:
		return ReasonActive, now
	case !fresh && !f.Idle && !f.EndSent && now.Sub(f.Last) >= l.timeouts.Idle:
		return ReasonIdle, f.Last
	}
	return 0, time.Time{}
}

func (f *flow) record(reason Reason, end time.Time) *Record {
	r := &Record{
		Info: f.Info, Protocol: f.Original.Protocol, Client: f.Client, Dialed: f.Dialed, Server: f.Server, Start: f.First, End: end,
		Reason: reason, Total: f.total(), TCPState: f.TCPState, flow: f,
	}
	for d := range r.Delta {
		r.Delta[d] = since(r.Total[d], f.Exported[d])
	}
	return r
}

// Sent notes that records have been sent.
func (l *Ledger) Sent(records []*Record, now time.Time) {
	for _, r := range records {
		f := r.flow
		f.Exported, f.Sent, f.Begun = r.Total, now, true
		f.Idle, f.EndSent = r.Reason == ReasonIdle, r.Reason == ReasonEnd
	}
	l.drop()
}

// Flows returns a record of each connection as it is now, without deltas.
func (l *Ledger) Flows() []*Record {
	records := make([]*Record, 0, len(l.flows))
	for _, f := range l.flows {
		r := f.record(ReasonActive, f.Last)
		r.Delta = Counts{}
		records = append(records, r)
	}
	slices.SortFunc(records, func(a, b *Record) int { return a.Start.Compare(b.Start) })
	return records
}
