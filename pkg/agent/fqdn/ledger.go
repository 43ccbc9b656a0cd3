// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import "container/list"

// Asker identifies the Pod that has resolved a name by its OpenFlow port.
type Asker = uint32

// several stands for more than one Pod.
const several Asker = 0

// parts is the number of Pods among which a ledger is divided when it is full.
const parts = 16

// ledger orders names by when a Pod has resolved them, and knows who has. When it is full, a Pod that has filled more than its part with
// names that no other Pod has resolved loses its own first, so that it cannot push out the names of others.
type ledger struct {
	limits
	all     *account
	byAsker map[Asker]*account
}

// account contains names, the least recently resolved one first.
type account struct {
	order     *list.List
	elements  map[*name]*list.Element
	addresses int
}

func newAccount() *account { return &account{order: list.New(), elements: map[*name]*list.Element{}} }

func newLedger(l limits) *ledger {
	return &ledger{limits: l, all: newAccount(), byAsker: map[Asker]*account{}}
}

func (a *account) remove(n *name, addresses int) {
	if e := a.elements[n]; e != nil {
		a.order.Remove(e)
		delete(a.elements, n)
		a.addresses -= addresses
	}
}

func (a *account) add(n *name, addresses int) {
	a.elements[n] = a.order.PushBack(n)
	a.addresses += addresses
}

// enter makes n the most recently resolved name, with its present asker and number of addresses.
func (l *ledger) enter(n *name) {
	l.remove(n)
	n.entered[l] = entry{n.asker, len(n.addresses)}
	account := l.byAsker[n.asker]
	if account == nil {
		account = newAccount()
		l.byAsker[n.asker] = account
	}
	account.add(n, len(n.addresses))
	l.all.add(n, len(n.addresses))
}

// resize enters the number of the name's addresses, without making it the most recently resolved name.
func (l *ledger) resize(n *name) {
	e, known := n.entered[l]
	if !known {
		return
	}
	more := len(n.addresses) - e.addresses
	l.all.addresses += more
	l.byAsker[e.asker].addresses += more
	e.addresses += more
	n.entered[l] = e
}

// entry contains what a ledger knows of a name.
type entry struct {
	asker     Asker
	addresses int
}

func (l *ledger) remove(n *name) {
	e, known := n.entered[l]
	if !known {
		return
	}
	delete(n.entered, l)
	l.all.remove(n, e.addresses)
	account := l.byAsker[e.asker]
	account.remove(n, e.addresses)
	if account.order.Len() == 0 {
		delete(l.byAsker, e.asker)
	}
}

// victim returns the name to evict, nil if the ledger is not too full.
func (l *ledger) victim() *name {
	size, limit := func(a *account) int { return a.order.Len() }, l.names
	if size(l.all) <= limit {
		size, limit = func(a *account) int { return a.addresses }, l.limits.addresses
		if size(l.all) <= limit {
			return nil
		}
	}
	from, most := l.all, limit/parts
	var greedy Asker
	for asker, account := range l.byAsker {
		// Equal ones are told apart by number, so that the choice does not depend on the order of a map.
		if n := size(account); asker != several && (n > most || n == most && from != l.all && asker < greedy) {
			from, most, greedy = account, n, asker
		}
	}
	return from.order.Front().Value.(*name)
}
