// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import "strings"

// Normalize returns the form in which names and selectors are compared: lower case, without a dot at the end.
func Normalize(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

func isPattern(selector Selector) bool { return strings.Contains(selector, "*") }

// matches reports whether the selector stands for the name, both normalized. A '*' stands for any sequence, also of no character and
// with dots. Its time grows with the product of the lengths at most,
// whatever the number of '*' is.
func matches(selector Selector, name string) bool {
	// star is the place of the latest '*', and retry the place of the name where what follows it is tried next.
	s, n, star, retry := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case s < len(selector) && selector[s] == '*':
			star, retry = s, n
			s++
		case s < len(selector) && selector[s] == name[n]:
			s++
			n++
		case star >= 0:
			retry++
			s, n = star+1, retry
		default:
			return false
		}
	}
	return strings.Trim(selector[s:], "*") == "" && selector != ""
}
