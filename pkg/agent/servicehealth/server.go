// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package servicehealth

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/httpapi/generic"
)

// Server serves the health check ports of Services.
type Server struct {
	// anyAddress: the ports are served at all addresses, whatever SetAddresses says.
	anyAddress bool
	node       Node
	guests     *generic.Guests
	readySince atomic.Pointer[time.Time]
	// leaving is set when load balancers shall no longer use the Node.
	leaving atomic.Bool

	// mu protects the following.
	mu        sync.Mutex
	closed    bool
	addresses []netip.Addr
	services  map[types.NamespacedName]*service
	// unclosed are former ports of Services that the firewall still lets through, because closing them failed.
	unclosed map[types.NamespacedName][]uint16
}

// Node is the part of the Node that a Server needs.
type Node struct {
	// Forwards returns why the Node cannot forward new connections to Services; nil: it can.
	Forwards func() error
	// OpenPort makes the firewall accept connections to a health check port, ClosePort ends that. Both can be repeated.
	OpenPort, ClosePort func(port uint16) error
}

// NewServer makes a Server. anyAddress says that health check ports are served at all addresses of the Node.
func NewServer(anyAddress bool, node Node) *Server {
	s := &Server{anyAddress: anyAddress, node: node, guests: generic.NewGuests(maxConnections, maxConnectionsOfSource), services: map[types.NamespacedName]*service{},
		unclosed: map[types.NamespacedName][]uint16{}}
	if anyAddress {
		s.addresses = []netip.Addr{everywhere}
	}
	return s
}

// service is one Service with its listeners, by their addresses.
type service struct {
	server    *Server
	name      types.NamespacedName
	port      uint16
	endpoints atomic.Int64
	listeners map[netip.Addr]*http.Server
	// opened says that the firewall lets connections to the port through.
	opened bool
}

// Ready makes all answers positive that can be. Until then Services may have Endpoints that are not installed.
func (s *Server) Ready() {
	now := time.Now()
	s.readySince.CompareAndSwap(nil, &now)
}

// healthy reports whether this Node forwards new connections to Services.
func (s *Server) healthy() bool { return s.readySince.Load() != nil && s.node.Forwards() == nil }

// Set makes the port report the number of Endpoints of the Service on this Node; port 0 ends that. It fails if the port
// cannot be served at all addresses, or a former port cannot be closed, and can be repeated then.
func (s *Server) Set(namespace, name string, port uint16, endpoints int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := types.NamespacedName{Namespace: namespace, Name: name}
	known := s.services[k]
	if known != nil && known.port != port {
		known.end()
		delete(s.services, k)
		known = nil
	}
	err := s.closePorts(k, port)
	if port == 0 || s.closed {
		return err
	}
	if known == nil {
		known = &service{server: s, name: k, port: port, listeners: map[netip.Addr]*http.Server{}}
		s.services[k] = known
	}
	known.endpoints.Store(int64(endpoints))
	return errors.Join(err, known.serve(s.addresses))
}

// closePorts closes the former ports of a Service, except one that it has again, or that another Service has now.
func (s *Server) closePorts(k types.NamespacedName, present uint16) error {
	inUse := map[uint16]bool{present: true}
	for _, other := range s.services {
		inUse[other.port] = true
	}
	var errs []error
	s.unclosed[k] = slices.DeleteFunc(s.unclosed[k], func(port uint16) bool {
		if inUse[port] {
			return true
		}
		err := s.node.ClosePort(port)
		if err != nil {
			errs = append(errs, fmt.Errorf("health check port of Service %s: %w", k, err))
		}
		return err == nil
	})
	if len(s.unclosed[k]) == 0 {
		delete(s.unclosed, k)
	}
	return errors.Join(errs...)
}

// SetAddresses replaces the addresses that health check ports are served at.
func (s *Server) SetAddresses(addresses []netip.Addr) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.anyAddress {
		return nil
	}
	s.addresses = slices.Clone(addresses)
	var errs []error
	for _, known := range s.services {
		errs = append(errs, known.serve(s.addresses))
	}
	return errors.Join(errs...)
}

// Close ends all listeners.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, known := range s.services {
		known.listenAt(nil)
	}
	clear(s.services)
}

// serve listens at the addresses, and opens the port of the firewall when it is this Service's.
func (s *service) serve(addresses []netip.Addr) error {
	if err := s.listenAt(addresses); err != nil || s.opened {
		return err
	}
	if err := s.server.node.OpenPort(s.port); err != nil {
		return fmt.Errorf("health check port of Service %s: %w", s.name, err)
	}
	s.opened = true
	return nil
}

// end stops listening. The firewall is left to closePorts.
func (s *service) end() {
	_ = s.listenAt(nil)
	if s.opened {
		s.server.unclosed[s.name] = append(s.server.unclosed[s.name], s.port)
	}
}

// listenAt opens and closes listeners, so that there is one at each address. It opens nothing without addresses, and cannot fail then.
func (s *service) listenAt(addresses []netip.Addr) error {
	for addr, listener := range s.listeners {
		if !slices.Contains(addresses, addr) {
			_ = listener.Close()
			delete(s.listeners, addr)
		}
	}
	var errs []error
	for _, addr := range addresses {
		if s.listeners[addr] != nil {
			continue
		}
		listener, err := s.server.listen(addr, s.port, s)
		if err != nil {
			errs = append(errs, fmt.Errorf("health check port %d of Service %s: %w", s.port, s.name, err))
			continue
		}
		s.listeners[addr] = listener
	}
	return errors.Join(errs...)
}

// serviceHealth is the answer for a Service.
type serviceHealth struct {
	Service struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"service"`
	LocalEndpoints      int64 `json:"localEndpoints"`
	ServiceProxyHealthy bool  `json:"serviceProxyHealthy"`
}

// ServeHTTP implements http.Handler. The path does not matter.
func (s *service) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	h := serviceHealth{LocalEndpoints: s.endpoints.Load(), ServiceProxyHealthy: s.server.healthy()}
	h.Service.Namespace, h.Service.Name = s.name.Namespace, s.name.Name
	w.Header().Set("X-Load-Balancing-Endpoint-Weight", strconv.FormatInt(h.LocalEndpoints, 10))
	// Byte by byte what kube-proxy answers. This cannot fail.
	text, _ := json.MarshalIndent(h, "", "\t")
	answer(w, h.LocalEndpoints > 0 && h.ServiceProxyHealthy, text)
}
