// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/statefile"
)

// The rules for the Node are stored: a version that cannot be applied leaves the former one in force, also when the agent has restarted since.
// The kernel has the same rules, but cannot tell which policy a rule belongs to. The file has them before the kernel.

// restore reads the rules that an earlier agent has applied.
func (n *nodePolicies) restore() {
	content, err := os.ReadFile(n.file)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	applied := map[string][]nodeRule{}
	if err == nil {
		err = json.Unmarshal(content, &applied)
	}
	if err != nil {
		n.unknown = fmt.Errorf("the rules for this Node that an earlier agent has applied: %s: %w", n.file, err)
		klog.ErrorS(n.unknown, "The rules for this Node stay as they are until all policies for it can be applied")
		return
	}
	n.applied = applied
}

// store writes rules for the next agent. A file that cannot be written is emptied: then that agent knows that it does not know.
func (n *nodePolicies) store(rules map[string][]nodeRule) {
	content, err := json.Marshal(rules)
	if err == nil {
		err = statefile.Replace(n.file, content)
	}
	if err != nil {
		klog.ErrorS(errors.Join(err, os.Truncate(n.file, 0)), "The rules for this Node are not stored for the next agent", "file", n.file)
	}
}
