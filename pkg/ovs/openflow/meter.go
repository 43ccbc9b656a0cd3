// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

// MaxMeterID is the largest id of a meter (OpenFlow 1.3, section 7.3.4.5, OFPM_MAX).
const MaxMeterID uint32 = 0xffff0000

// meterAll is every meter, in deletions and requests (OFPM_ALL).
const meterAll = 0xffffffff

// MeterEntry is a meter of the switch: packets above its rate are dropped (a band of type OFPMBT_DROP). ID identifies it; it is
// at least 1.
type MeterEntry struct {
	ID uint32
	// KBPS selects kilobits per second; otherwise the unit is packets per second.
	KBPS bool
	// Rate and Burst are in that unit: how much may pass per second, and how much at once. Burst 0 is OVS's default.
	Rate, Burst uint32
}

// MeterStats are the counters of a meter.
type MeterStats struct {
	ID uint32
	// Flows is the number of flows that have it as a Meter; those that have it in a Controller do not count.
	Flows uint32
	// In counts what reached the meter, Dropped what was above the rate.
	In, Dropped Counters
	Age         time.Duration
}

// MeterFeatures says which meters the switch supports.
type MeterFeatures struct {
	// MaxMeters is their maximum number, 0 when the datapath has none.
	MaxMeters uint32
	// KBPS, PacketsPerSecond and Burst tell whether these can be set.
	KBPS, PacketsPerSecond, Burst bool
}

// MeterCommand is the operation of a MeterMod (OpenFlow 1.3, section 7.3.4.5, OFPMC_*).
type MeterCommand uint8

const (
	// MeterAdd adds the meter; it is an error if there is one with its id.
	MeterAdd MeterCommand = iota
	// MeterModify replaces unit, rate and burst; it is an error if there is no such meter.
	MeterModify
	// MeterDelete deletes the meter with Meter.ID and the flows that point to it; it is no error if there is none.
	MeterDelete
	// MeterDeleteAll deletes all meters and the flows that point to them.
	MeterDeleteAll
)

// MeterMod is one change of the meters.
type MeterMod struct {
	Command MeterCommand
	Meter   MeterEntry
}

// MeterError is the refusal of one MeterMod, by this package or by the switch.
type MeterError struct {
	// Meter is MeterEntry.String of the meter, or a description of the meters to delete.
	Meter string
	Err   error
}

func (e *MeterError) Error() string { return fmt.Sprintf("meter %q: %v", e.Meter, e.Err) }

func (e *MeterError) Unwrap() error { return e.Err }

// String is the meter as ovs-ofctl dump-meters prints it, on one line: "meter=1 pktps burst stats bands= type=drop rate=100 burst_size=200".
func (m MeterEntry) String() string {
	parts := []string{fmt.Sprintf("meter=%d", m.ID), "pktps"}
	if m.KBPS {
		parts[1] = "kbps"
	}
	if m.Burst != 0 {
		parts = append(parts, "burst")
	}
	parts = append(parts, "stats", "bands=", "type=drop", fmt.Sprintf("rate=%d", m.Rate))
	if m.Burst != 0 {
		parts = append(parts, fmt.Sprintf("burst_size=%d", m.Burst))
	}
	return strings.Join(parts, " ")
}

func describeMeter(mod *MeterMod) string {
	switch mod.Command {
	case MeterAdd:
		return mod.Meter.String()
	case MeterModify:
		return "modify " + mod.Meter.String()
	case MeterDelete:
		return fmt.Sprintf("delete meter=%d", mod.Meter.ID)
	case MeterDeleteAll:
		return "delete all"
	}
	return fmt.Sprintf("command %d of meter=%d", mod.Command, mod.Meter.ID)
}

// Flags, the type of a band and sizes (OpenFlow 1.3, section 7.3.4.5, OFPMF_*, OFPMBT_DROP).
const (
	meterKBPS   = 1
	meterPktPS  = 2
	meterBurst  = 4
	meterStats  = 8
	bandDrop    = 1
	bandSize    = 16
	bandCounted = 16
)

// encodeMeterMod returns the OFPT_METER_MOD message of mod. Its errors are *MeterError.
func encodeMeterMod(mod *MeterMod, v version, xid uint32) ([]byte, error) {
	command, m := uint16(mod.Command), mod.Meter
	var err error
	switch mod.Command {
	case MeterAdd, MeterModify:
		if m.Rate == 0 {
			err = fmt.Errorf("the rate is 0: want at least 1")
		}
	case MeterDelete:
	case MeterDeleteAll:
		command, m = uint16(MeterDelete), MeterEntry{ID: meterAll}
	default:
		err = fmt.Errorf("unknown command %d: want MeterAdd, MeterModify, MeterDelete or MeterDeleteAll", mod.Command)
	}
	if mod.Command != MeterDeleteAll && (m.ID == 0 || m.ID > MaxMeterID) {
		err = fmt.Errorf("meter id %#x: want 1..%#x", m.ID, MaxMeterID)
	}
	if err != nil {
		return nil, &MeterError{Meter: describeMeter(mod), Err: err}
	}
	flags := uint16(meterPktPS | meterStats)
	if m.KBPS {
		flags = meterKBPS | meterStats
	}
	if m.Burst != 0 {
		flags |= meterBurst
	}
	size := 8
	if command != uint16(MeterDelete) {
		size += bandSize
	}
	b := appendHeader(nil, v, typeMeterMod, size, xid)
	b = binary.BigEndian.AppendUint16(b, command)
	b = binary.BigEndian.AppendUint16(b, flags)
	b = binary.BigEndian.AppendUint32(b, m.ID)
	if command != uint16(MeterDelete) {
		b = append(b, 0, bandDrop, 0, bandSize)
		b = binary.BigEndian.AppendUint32(b, m.Rate)
		b = binary.BigEndian.AppendUint32(b, m.Burst)
		b = append(b, 0, 0, 0, 0)
	}
	return b, nil
}

// parseMeterConfigs decodes the meters of one OFPMP_METER_CONFIG reply. A meter that this package did not add is given the rate of
// its first band.
func parseMeterConfigs(m message) ([]MeterEntry, error) {
	b, err := multipartBody(m, multipartMeterConfig)
	if err != nil {
		return nil, err
	}
	var meters []MeterEntry
	for len(b) > 0 {
		const headerSize = 8
		if len(b) < headerSize {
			return nil, fmt.Errorf("meter configuration of %d bytes: want at least %d", len(b), headerSize)
		}
		n, flags := int(binary.BigEndian.Uint16(b)), binary.BigEndian.Uint16(b[2:])
		if n < headerSize || n > len(b) {
			return nil, fmt.Errorf("meter configuration of the length %d: want %d..%d", n, headerSize, len(b))
		}
		meter := MeterEntry{ID: binary.BigEndian.Uint32(b[4:]), KBPS: flags&meterKBPS != 0}
		if bands := b[headerSize:n]; len(bands) >= bandSize {
			meter.Rate = binary.BigEndian.Uint32(bands[4:])
			if flags&meterBurst != 0 {
				meter.Burst = binary.BigEndian.Uint32(bands[8:])
			}
		}
		meters = append(meters, meter)
		b = b[n:]
	}
	return meters, nil
}

// parseMeterStats decodes the counters of one OFPMP_METER reply.
func parseMeterStats(m message) ([]MeterStats, error) {
	b, err := multipartBody(m, multipartMeter)
	if err != nil {
		return nil, err
	}
	var stats []MeterStats
	for len(b) > 0 {
		const headerSize = 40
		if len(b) < headerSize {
			return nil, fmt.Errorf("meter statistics of %d bytes: want at least %d", len(b), headerSize)
		}
		n := int(binary.BigEndian.Uint16(b[4:]))
		if n < headerSize || n > len(b) {
			return nil, fmt.Errorf("meter statistics of the length %d: want %d..%d", n, headerSize, len(b))
		}
		s := MeterStats{ID: binary.BigEndian.Uint32(b), Flows: binary.BigEndian.Uint32(b[12:]), In: parseCounters(b[16:]), Age: parseAge(b[32:])}
		for bands := b[headerSize:n]; len(bands) >= bandCounted; bands = bands[bandCounted:] {
			c := parseCounters(bands)
			s.Dropped.Packets += c.Packets
			s.Dropped.Bytes += c.Bytes
		}
		stats = append(stats, s)
		b = b[n:]
	}
	return stats, nil
}

// parseMeterFeatures decodes an OFPMP_METER_FEATURES reply.
func parseMeterFeatures(m message) (MeterFeatures, error) {
	b, err := multipartBody(m, multipartMeterFeatures)
	if err != nil {
		return MeterFeatures{}, err
	}
	const size = 16
	if len(b) < size {
		return MeterFeatures{}, fmt.Errorf("meter features of %d bytes: want at least %d", len(b), size)
	}
	capabilities := binary.BigEndian.Uint32(b[8:])
	return MeterFeatures{
		MaxMeters: binary.BigEndian.Uint32(b), KBPS: capabilities&meterKBPS != 0,
		PacketsPerSecond: capabilities&meterPktPS != 0, Burst: capabilities&meterBurst != 0,
	}, nil
}

// parseCounters decodes 16 bytes of counters, parseAge 8 bytes of seconds and nanoseconds.
func parseCounters(b []byte) Counters {
	return Counters{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}
}

func parseAge(b []byte) time.Duration {
	return time.Duration(binary.BigEndian.Uint32(b))*time.Second + time.Duration(binary.BigEndian.Uint32(b[4:]))
}
