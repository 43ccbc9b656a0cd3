// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

// span counts, by Node name, the reasons why a Node is affected. Entries are positive.
type span map[string]int

// add adds one reason and reports whether it is the first.
func (s span) add(node string) bool {
	s[node]++
	return s[node] == 1
}

// remove removes one reason and reports whether none is left.
func (s span) remove(node string) bool {
	if s[node]--; s[node] > 0 {
		return false
	}
	delete(s, node)
	return true
}

func (s span) has(node string) bool {
	_, ok := s[node]
	return ok
}
