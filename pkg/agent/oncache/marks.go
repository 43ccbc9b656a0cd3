// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"maps"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
)

func (m *Manager) wakeMarks() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// keepMarks writes mark flows whenever some are needed. After a failure it waits: each attempt uses up epochs, and while Open vSwitch
// is away, other changes also fail, and wake it each time.
func (m *Manager) keepMarks(stopCh <-chan struct{}) {
	retry := time.NewTimer(0)
	defer retry.Stop()
	wake := m.wake
	for {
		select {
		case <-stopCh:
			return
		case <-wake:
		case <-retry.C:
		}
		select {
		case m.uplink.nodesChanged <- struct{}{}:
		default:
		}
		again := true
		err := recovery.Call(boundaryName, recovery.Part("ONCache marks"), func() (err error) { again, err = m.writeMarks(); return err })
		wake = m.wake
		if err != nil {
			wake = nil
		}
		if again {
			retry.Reset(retryInterval)
		}
	}
}

// writeMarks installs the mark flows of all endpoints that need them, and removes the flows of interfaces that are no longer
// endpoints. It reports whether any of this remains to be done.
func (m *Manager) writeMarks() (again bool, err error) {
	marks, serials := m.ledger.pendingMarks()
	if len(marks) > 0 {
		if err := m.flows.InstallMarkFlows(marks); err != nil {
			m.failures.add(operationMarks)
			klog.ErrorS(err, "Could not write ONCache mark flows to Open vSwitch, trying again", "endpoints", len(marks))
			return true, err
		}
		m.ledger.marksWritten(marks, serials)
	}
	if useless := m.ledger.uselessMarks(); len(useless) > 0 {
		if err := m.flows.UninstallMarkFlows(useless); err != nil {
			m.failures.add(operationMarks)
			klog.ErrorS(err, "Could not remove ONCache mark flows from Open vSwitch, trying again", "interfaces", useless)
			return true, err
		}
		m.ledger.marksRemoved(useless)
	}
	return m.ledger.unmarked() > 0, nil
}

// pendingMarks returns new marks for every endpoint that needs them, with the serials that they belong to.
func (l *ledger) pendingMarks() (marks []coherency.Mark, serials map[string]uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	serials = map[string]uint64{}
	for _, name := range slices.Sorted(maps.Keys(l.needMarks)) {
		e := l.endpoints[name]
		if m := l.nextMark(e); m.Epoch != 0 {
			marks = append(marks, m)
			serials[name] = e.serial
		}
	}
	return marks, serials
}

// marksWritten lets endpoints learn if their marks are on the switch and no other change has overtaken them. For interfaces removed
// since, the mark flows came too late.
func (l *ledger) marksWritten(marks []coherency.Mark, serials map[string]uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var written []*endpoint
	for _, m := range marks {
		e := l.endpoints[m.InterfaceName]
		if e == nil {
			l.leftMarks[m.InterfaceName] = true
			continue
		}
		if e.serial != serials[m.InterfaceName] {
			continue
		}
		l.publish(e, uint32(m.Epoch))
		delete(l.needMarks, m.InterfaceName)
		written = append(written, e)
	}
	l.stamp(written...)
}

// uselessMarks returns the interfaces whose mark flows must be removed.
func (l *ledger) uselessMarks() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.leftMarks))
}

// marksRemoved notes that interfaces no longer have mark flows. An endpoint added since may be among them.
func (l *ledger) marksRemoved(interfaceNames []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range interfaceNames {
		delete(l.leftMarks, name)
		if e := l.endpoints[name]; e != nil {
			l.remark(e)
		}
	}
}

// unmarked returns the number of endpoints that await mark flows, plus interfaces with useless ones.
func (l *ledger) unmarked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.needMarks) + len(l.leftMarks)
}
