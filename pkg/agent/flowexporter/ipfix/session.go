// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"time"

	"github.com/vmware/go-ipfix/pkg/entities"
	"github.com/vmware/go-ipfix/pkg/exporter"

	"github.com/antrea-oncache/antrea/pkg/agent/flowexporter/flows"
)

// Protocols of collectors.
const (
	TLS = "tls"
	TCP = "tcp"
	UDP = "udp"
)

const (
	// DefaultTemplateRefresh is the interval at which templates are sent again over UDP (RFC 7011, section 8.4, leaves
	// it to the exporter).
	DefaultTemplateRefresh = 10 * time.Minute
	// udpMessage is the size limit of a message over UDP: it fits into the smallest MTU of IPv6. Only a single longer
	// record makes a longer message.
	udpMessage = 1280 - 48
	// maxUDPMessage is the longest UDP datagram.
	maxUDPMessage = 65507
	// checkInterval is the interval at which the library checks whether the collector has closed the TCP connection.
	checkInterval = time.Second
	headers       = entities.MsgHeaderLength + entities.SetHeaderLen
)

// Credentials are the PEM texts for TLS.
type Credentials struct {
	// CA has signed the collector's certificate, for ServerName. Certificate and Key are the exporter's.
	CA, Certificate, Key []byte
	ServerName           string
}

// Options say where the collector is.
type Options struct {
	// Address is IP:PORT.
	Address string
	// Protocol is TLS, TCP or UDP; Credentials are for TLS.
	Protocol    string
	Credentials *Credentials
	// NodeName identifies the exporter to the collector, as a hash: the observation domain.
	NodeName string
	// TemplateRefresh is DefaultTemplateRefresh in production.
	TemplateRefresh time.Duration
}

// Session is a connection to a collector that has got the templates. It is for one goroutine, but Close may be called by another one.
type Session struct {
	process *exporter.ExportingProcess
	// templates are the templates for IPv4 and IPv6.
	templates [2]*template
	// message is the length of messages; 0 leaves it to the library.
	message int
	// refresh is the time at which templates are due again; zero if never.
	refresh  time.Time
	interval time.Duration
}

// ObservationDomain returns the number by which a collector tells the Nodes apart.
func ObservationDomain(nodeName string) uint32 {
	h := fnv.New32()
	_, _ = h.Write([]byte(nodeName))
	return h.Sum32()
}

// Dial connects to a collector and sends the templates. With UDP it succeeds whether or not there is one.
func Dial(ctx context.Context, o Options) (*Session, error) {
	input := exporter.ExporterInput{
		CollectorAddress: o.Address, CollectorProtocol: o.Protocol, ObservationDomainID: ObservationDomain(o.NodeName), CheckConnInterval: checkInterval,
		// The library would send templates from a goroutine of its own, which races for the sequence number.
		TempRefTimeout: math.MaxUint32,
	}
	switch {
	case o.Protocol == TLS && o.Credentials == nil:
		return nil, fmt.Errorf("connect to the flow collector %s: TLS without credentials", o.Address)
	case o.Protocol == TLS:
		input.CollectorProtocol = TCP
		input.TLSClientConfig = &exporter.ExporterTLSClientConfig{
			ServerName: o.Credentials.ServerName, CAData: o.Credentials.CA, CertData: o.Credentials.Certificate, KeyData: o.Credentials.Key,
		}
	case o.Protocol == UDP:
		input.MaxMsgSize = maxUDPMessage
	}
	err := try(ctx, o)
	var process *exporter.ExportingProcess
	if err == nil {
		process, err = within(ctx, input)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to the flow collector %s over %s: %w", o.Address, o.Protocol, err)
	}
	s := &Session{process: process}
	if o.Protocol == UDP {
		s.message, s.interval = udpMessage, o.TemplateRefresh
	}
	if err := s.begin(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Session) begin() (err error) {
	for i, version := range []string{"v4", "v6"} {
		elements := append(append([]element{}, common...), addresses(version)...)
		if s.templates[i], err = newTemplate(s.process.NewTemplateID(), elements); err != nil {
			return err
		}
	}
	return s.sendTemplates()
}

func (s *Session) sendTemplates() error {
	for _, t := range s.templates {
		set, err := entities.MakeTemplateSet(t.id, t.library)
		if err != nil {
			return fmt.Errorf("make template %d: %w", t.id, err)
		}
		if _, err := s.process.SendSet(set); err != nil {
			return fmt.Errorf("send template %d: %w", t.id, err)
		}
	}
	if s.interval > 0 {
		s.refresh = time.Now().Add(s.interval)
	}
	return nil
}

// Send sends records, and returns the number sent: with an error, the number before the record that failed. After an
// error the session must be closed.
func (s *Session) Send(records []*flows.Record) (sent int, err error) {
	if !s.refresh.IsZero() && time.Now().After(s.refresh) {
		if err := s.sendTemplates(); err != nil {
			return 0, err
		}
	}
	for sent < len(records) {
		batch := s.batch(records[sent:])
		n, _, err := s.process.SendDataRecords(batch[0].GetTemplateID(), batch, nil)
		sent += n
		if err != nil {
			return sent, fmt.Errorf("send flow records: %w", err)
		}
	}
	return sent, nil
}

// batch returns the records that can be in the next message: at least one, all of one IP version.
func (s *Session) batch(records []*flows.Record) (batch []entities.Record) {
	limit := s.message
	if limit == 0 {
		limit = s.process.GetMsgSizeLimit()
	}
	length := headers
	for _, r := range records {
		t := s.templates[0]
		if r.Server.Addr().Is6() {
			t = s.templates[1]
		}
		encoded := t.encode(r)
		length += encoded.GetRecordLength()
		if len(batch) > 0 && (length > limit || t.id != batch[0].GetTemplateID()) {
			break
		}
		batch = append(batch, encoded)
	}
	return batch
}

// Close ends the session. It may be called more than once.
func (s *Session) Close() { s.process.CloseConnToCollector() }
