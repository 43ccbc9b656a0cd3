// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsconfig

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ovn-kubernetes/libovsdb/client"
	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// operationTimeout bounds operations whose interface has no context, including a reconnection.
const operationTimeout = 10 * time.Second

// session is one connected client within the time bound of one operation. ovsdb-server sends the changes of a transaction
// before its reply, so the client's copy of the database holds a transaction's effect as soon as it has returned.
type session struct {
	client.Client
	ctx context.Context
}

// errIncomplete means that a row is missing from the client's copy which is about to be written: a row to which another
// one refers, while a transaction is applied to the copy row by row, or the row of table Open_vSwitch, which ovs-ctl
// writes after it has started ovsdb-server with a new database. It is temporary.
var errIncomplete = errors.New("the copy of the database is incomplete")

// do is wait with a timeout, for operations without a context.
func (b *bridgeClient) do(operation string, f func(*session) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), b.timeout)
	defer cancel()
	return b.wait(ctx, operation, func(s *session) (bool, error) { return true, f(s) })
}

// wait runs f in a session now and after every change of the database, until it returns true or an error other than
// errIncomplete, or ctx ends. The error names the operation.
func (b *bridgeClient) wait(ctx context.Context, operation string, f func(*session) (bool, error)) error {
	var incomplete error
	err := b.conn.waitFor(ctx, func(cl client.Client) (bool, error) {
		done, err := f(&session{Client: cl, ctx: ctx})
		incomplete = nil
		if errors.Is(err, errIncomplete) {
			incomplete = err
			return false, nil
		}
		return done, err
	})
	if err == nil {
		return nil
	}
	if incomplete != nil {
		err = fmt.Errorf("%w: %w", err, incomplete)
	}
	return fmt.Errorf("%s: %w", operation, err)
}

// transact commits all operations or none.
func (s *session) transact(ops ...ovsdb.Operation) ([]ovsdb.OperationResult, error) {
	results, err := s.Transact(s.ctx, ops...)
	if err != nil {
		return nil, err
	}
	opErrors, err := ovsdb.CheckOperationResults(results, ops)
	if err == nil {
		return results, nil
	}
	all := make([]error, 0, len(opErrors))
	for _, e := range opErrors {
		all = append(all, e)
	}
	if len(all) == 0 {
		return nil, err
	}
	return nil, errors.Join(all...)
}

// root returns the only row of table Open_vSwitch, or errIncomplete if there is none.
func (s *session) root() (*rootRow, error) {
	var rows []rootRow
	if err := s.List(s.ctx, &rows); err != nil {
		return nil, fmt.Errorf("read table Open_vSwitch: %w", err)
	}
	switch len(rows) {
	case 1:
		return &rows[0], nil
	case 0:
		return nil, fmt.Errorf("%w: table Open_vSwitch has no row (\"ovs-vsctl --no-wait init\" makes it)", errIncomplete)
	default:
		return nil, fmt.Errorf("table Open_vSwitch has %d rows, want 1", len(rows))
	}
}

// bridge returns the row of a bridge; false when there is none.
func (s *session) bridge(name string) (*bridgeRow, bool, error) {
	row := &bridgeRow{Name: name}
	found, err := s.get(row)
	return row, found, err
}

// mustBridge is bridge for operations that need the bridge.
func (s *session) mustBridge(name string) (*bridgeRow, error) {
	row, found, err := s.bridge(name)
	if err == nil && !found {
		err = fmt.Errorf("bridge %q does not exist in OVSDB", name)
	}
	return row, err
}

// port returns a port of the bridge and its interface; false when the bridge has none of that name.
func (s *session) port(br *bridgeRow, name string) (*portRow, *interfaceRow, bool, error) {
	port, found, err := s.portOf(br, name)
	if err != nil || !found {
		return nil, nil, false, err
	}
	iface, err := s.interfaceOf(port)
	return port, iface, err == nil, err
}

// portOf returns a port of the bridge. It reports a port as absent only if the copy has all of the bridge's ports.
func (s *session) portOf(br *bridgeRow, name string) (*portRow, bool, error) {
	port := &portRow{Name: name}
	found, err := s.get(port)
	if err != nil {
		return nil, false, err
	}
	if found && slices.Contains(br.Ports, port.UUID) {
		return port, true, nil
	}
	for _, uuid := range br.Ports {
		if err := s.follow(&portRow{UUID: uuid}, "port "+uuid); err != nil {
			return nil, false, err
		}
	}
	return nil, false, nil
}

func (s *session) interfaceOf(port *portRow) (*interfaceRow, error) {
	if len(port.Interfaces) != 1 {
		return nil, fmt.Errorf("port %q has %d interfaces, want 1 (bonds are not supported)", port.Name, len(port.Interfaces))
	}
	iface := &interfaceRow{UUID: port.Interfaces[0]}
	return iface, s.follow(iface, fmt.Sprintf("interface %s of port %q", iface.UUID, port.Name))
}

// follow reads a row to which another row refers.
func (s *session) follow(row model.Model, name string) error {
	found, err := s.get(row)
	if err == nil && !found {
		err = fmt.Errorf("%w: no %s", errIncomplete, name)
	}
	return err
}

// get reads the row with row's UUID or name; false when there is none.
func (s *session) get(row model.Model) (bool, error) {
	err := s.Get(s.ctx, row)
	if errors.Is(err, client.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// setKeys returns the operation that sets some keys of a map column and leaves the others.
func setKeys(s *session, row model.Model, column *map[string]string, kv map[string]string) ([]ovsdb.Operation, error) {
	keys := make([]string, 0, len(kv))
	for k := range kv {
		keys = append(keys, k)
	}
	// Insert alone keeps the old value of a key that is present (RFC 7047, 5.1).
	return s.Where(row).Mutate(row,
		model.Mutation{Field: column, Mutator: ovsdb.MutateOperationDelete, Value: keys},
		model.Mutation{Field: column, Mutator: ovsdb.MutateOperationInsert, Value: kv})
}
