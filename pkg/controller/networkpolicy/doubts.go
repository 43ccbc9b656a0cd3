// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// doubts says what of an object could not be decoded.
type doubts struct {
	// content, if not nil, says what is unknown about the version that is in force, as crd.ReadParts does.
	content error
	// later, if not nil, says why a later version is not in force.
	later error
}

// ofAll reports whether any field of the version in force may lack a part.
func (d doubts) ofAll() bool { return d.content != nil && !errors.As(d.content, new(crd.RuleDoubts)) }

// ofRule reports whether any field of a rule may lack a part.
func (d doubts) ofRule(side string, index int) bool {
	var rules crd.RuleDoubts
	if !errors.As(d.content, &rules) {
		return d.content != nil
	}
	return rules[fmt.Sprintf("%s[%d]", side, index)] != nil
}

// keptFor returns the doubts of a version that stays in force because the next one is in doubt. With equal doubts nothing but the status may have changed.
func (d doubts) keptFor(next doubts) doubts {
	if fmt.Sprint(d.content) == fmt.Sprint(next.content) {
		return d
	}
	return doubts{content: d.content, later: next.content}
}

func (d doubts) same(other doubts) bool {
	return fmt.Sprint(d.content) == fmt.Sprint(other.content) && fmt.Sprint(d.later) == fmt.Sprint(other.later)
}

// doubt notes what could not be decoded.
func (t *translation) doubt(d doubts) {
	if d.later != nil {
		t.cannotRead("spec: ", fmt.Errorf("the former version stays in force: %w", d.later))
	}
	var rules crd.RuleDoubts
	if !errors.As(d.content, &rules) {
		if d.content != nil {
			t.cannotRead("spec: ", d.content)
		}
		return
	}
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		t.cannotRead("spec."+rule+": ", rules[rule])
	}
}
