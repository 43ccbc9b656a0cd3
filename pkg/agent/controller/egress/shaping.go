// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// maxBandwidth, in kbit/s or kbit, is above the rate of all networks: more is no other limit. The kernel computes with the sum of rate and burst.
const maxBandwidth = 1e9

// errShapingOff is why bandwidths have no effect with the feature gate off.
var errShapingOff = errors.New("the feature gate EgressTrafficShaping is off")

// bandwidth is the limit of an address, which one Egress decides.
type bandwidth struct {
	openflow.EgressBandwidth
	// egress is the name of the Egress, text its bandwidth in its words.
	egress, text string
	// unread is set if it cannot be read: what is in force stays.
	unread bool
}

// readBandwidth reads the bandwidth of an Egress.
func readBandwidth(b *v1beta1.Bandwidth) (limit openflow.EgressBandwidth, err error) {
	if limit.Rate, err = kilobits("rate", b.Rate); err != nil {
		return limit, err
	}
	if limit.Burst, err = kilobits("burst", b.Burst); err != nil {
		return limit, err
	}
	if limit.Rate == 0 {
		return limit, fmt.Errorf("bandwidth.rate %q is less than 1k, the lowest rate", b.Rate)
	}
	return limit, nil
}

func kilobits(field, text string) (uint32, error) {
	q, err := resource.ParseQuantity(text)
	if err != nil || q.Sign() < 0 {
		return 0, fmt.Errorf("bandwidth.%s %q is not a quantity of bits, such as 100M", field, text)
	}
	return uint32(min(q.Value()/1000, maxBandwidth)), nil
}

// limit records the bandwidth of an Egress, of which older ones with the same address are recorded already: the oldest bandwidth counts.
func (p *plan) limit(e *v1beta1.Egress, addr netip.Addr, shaping bool) {
	if e.Spec.Bandwidth == nil {
		return
	}
	if !shaping {
		p.unlimited[e.Name] = errShapingOff
		return
	}
	b := bandwidth{egress: e.Name, text: fmt.Sprintf("rate %s, burst %s", e.Spec.Bandwidth.Rate, e.Spec.Bandwidth.Burst)}
	var err error
	if b.EgressBandwidth, err = readBandwidth(e.Spec.Bandwidth); err != nil {
		p.unlimited[e.Name], b.unread = err, true
	}
	older, ok := p.limits[addr]
	switch {
	case !ok || older.unread:
		p.limits[addr] = b
	case b.unread:
	case older.EgressBandwidth != b.EgressBandwidth:
		p.unlimited[e.Name] = fmt.Errorf("%s is also the address of the older Egress %s, whose bandwidth counts (%s)", addr, older.egress, older.text)
	}
}

// shaper makes the switch keep the bandwidths of addresses.
type shaper struct {
	flows Flows
	// has are the limits of marks that are in force.
	has map[uint8]openflow.EgressBandwidth
}

// set brings the bandwidth of an address into force. A bandwidth that the switch cannot keep is recorded in the plan.
func (s *shaper) set(p *plan, addr netip.Addr, mark uint8) error {
	b, wanted := p.limits[addr]
	has, limited := s.has[mark]
	switch {
	case b.unread:
	case wanted && (!limited || has != b.EgressBandwidth):
		err := s.flows.InstallEgressQoS(mark, b.EgressBandwidth)
		if errors.Is(err, openflow.ErrNoBandwidth) {
			p.unlimited[b.egress] = err
			return nil
		}
		if err != nil {
			return fmt.Errorf("bandwidth of Egress %s: %w", b.egress, err)
		}
		s.has[mark] = b.EgressBandwidth
	case !wanted && limited:
		return s.remove(mark)
	}
	return nil
}

// retain ends the limits of marks that the plan does not have.
func (s *shaper) retain(p *plan) error {
	var errs []error
	for mark := range maps.Clone(s.has) {
		if !slices.Contains(slices.Collect(maps.Values(p.marks)), mark) {
			errs = append(errs, s.remove(mark))
		}
	}
	return errors.Join(errs...)
}

// remove ends the limit of a mark.
func (s *shaper) remove(mark uint8) error {
	if _, limited := s.has[mark]; !limited {
		return nil
	}
	if err := s.flows.UninstallEgressQoS(mark); err != nil {
		return err
	}
	delete(s.has, mark)
	return nil
}
