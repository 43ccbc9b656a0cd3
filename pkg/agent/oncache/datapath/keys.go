// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"sync/atomic"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// MaxKeys is the number of keys that can be in use at a time, for rewritten packets to this Node from all others.
const MaxKeys = 65535

// keyLife is how long a Node uses a key after it has heard it; the one that has told it keeps it for twice as long. It is part of the
// protocol between Nodes: all versions that understand keys have the same.
const keyLife = 10 * time.Second

// nodeRewrites is NODE_REWRITES of bpf/oncache/types.h.
const nodeRewrites = 1

// SetNodeRewrites says whether the agent of the Node in the slot understands keys, and so may be told some. A new slot does not.
func (d *Datapath) SetNodeRewrites(slot int, rewrites bool) {
	flags := &d.nodes.Elements[slot].Flags
	if rewrites {
		atomic.OrUint32(flags, nodeRewrites)
	} else {
		atomic.AndUint32(flags, ^uint32(nodeRewrites))
	}
}

// KeysKept is how many keys other Nodes may use at present.
func (d *Datapath) KeysKept() (int, error) {
	now, err := d.now()
	if err != nil {
		return 0, err
	}
	kept := 0
	for key := range d.restores.Elements {
		told := atomic.LoadUint64(&d.restores.Elements[key].Told)
		if told != 0 && int64(now.jiffies-told) < 2*int64(atomic.LoadUint32(&d.control.Elements[0].KeyLife)) {
			kept++
		}
	}
	return kept, nil
}

// keyTime is key_time of bpf/oncache/keys.h: the unit of times in BpfOncKeys.
func keyTime(jiffies uint64) uint32 { return uint32(jiffies >> 6) }

// rewritten reports whether packets of an egress entry's flow are rewritten at present.
func rewritten(now moment, k *object.BpfOncKeys) bool {
	return k.Heard.Key != 0 && int32(k.Until-keyTime(now.jiffies)) > 0
}
