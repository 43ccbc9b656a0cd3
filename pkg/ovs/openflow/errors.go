// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"errors"
	"fmt"
)

// ErrDisconnected is returned (wrapped) when there is no connection to the switch, or when it ended before the switch
// answered: it is then unknown whether the switch has done what was asked. Test for it with errors.Is.
var ErrDisconnected = errors.New("not connected to the OpenFlow switch")

// Error is an OFPT_ERROR of the switch (OpenFlow 1.3, section A.4.4).
type Error struct {
	Type, Code uint16
	// Experimenter is set when Type is OFPET_EXPERIMENTER (0xffff): 0x2320 Nicira, 0x4f4e4600 ONF.
	Experimenter uint32
	// Malformed is true when the switch's message was too short to decode.
	Malformed bool
}

// Error names the error as OVS and the specification do: "OFPBMC_BAD_PREREQ (type 4, code 9)".
func (e *Error) Error() string {
	switch {
	case e.Malformed:
		return "malformed OpenFlow error message"
	case e.Type != errorExperimenter:
		t := errorNames[e.Type]
		if int(e.Code) < len(t.codes) && t.codes[e.Code] != "" {
			return fmt.Sprintf("%s_%s (type %d, code %d)", t.prefix, t.codes[e.Code], e.Type, e.Code)
		}
		if t.name != "" {
			return fmt.Sprintf("%s, unknown code %d (type %d)", t.name, e.Code, e.Type)
		}
		return fmt.Sprintf("unknown OpenFlow error (type %d, code %d)", e.Type, e.Code)
	case e.Experimenter == onfExperimenter && bundleErrorNames[e.Code] != "":
		return fmt.Sprintf("OFPBFC_%s (ONF error %d)", bundleErrorNames[e.Code], e.Code)
	}
	return fmt.Sprintf("experimenter error %d (experimenter %#x)", e.Code, e.Experimenter)
}

type errorType struct {
	name   string
	prefix string
	// codes is indexed by the code; "" where the specification leaves a gap.
	codes []string
}

// errorNames are the error types that the switch can return for flow changes and requests of this package.
var errorNames = map[uint16]errorType{
	0: {"OFPET_HELLO_FAILED", "OFPHFC", []string{"INCOMPATIBLE", "EPERM"}},
	1: {"OFPET_BAD_REQUEST", "OFPBRC", []string{"BAD_VERSION", "BAD_TYPE", "BAD_MULTIPART", "BAD_EXPERIMENTER", "BAD_EXP_TYPE",
		"EPERM", "BAD_LEN", "BUFFER_EMPTY", "BUFFER_UNKNOWN", "BAD_TABLE_ID", "IS_SLAVE", "BAD_PORT", "BAD_PACKET",
		"MULTIPART_BUFFER_OVERFLOW"}},
	2: {"OFPET_BAD_ACTION", "OFPBAC", []string{"BAD_TYPE", "BAD_LEN", "BAD_EXPERIMENTER", "BAD_EXP_TYPE", "BAD_OUT_PORT",
		"BAD_ARGUMENT", "EPERM", "TOO_MANY", "BAD_QUEUE", "BAD_OUT_GROUP", "MATCH_INCONSISTENT", "UNSUPPORTED_ORDER", "BAD_TAG",
		"BAD_SET_TYPE", "BAD_SET_LEN", "BAD_SET_ARGUMENT"}},
	3: {"OFPET_BAD_INSTRUCTION", "OFPBIC", []string{"UNKNOWN_INST", "UNSUP_INST", "BAD_TABLE_ID", "UNSUP_METADATA",
		"UNSUP_METADATA_MASK", "BAD_EXPERIMENTER", "BAD_EXP_TYPE", "BAD_LEN", "EPERM"}},
	4: {"OFPET_BAD_MATCH", "OFPBMC", []string{"BAD_TYPE", "BAD_LEN", "BAD_TAG", "BAD_DL_ADDR_MASK", "BAD_NW_ADDR_MASK",
		"BAD_WILDCARDS", "BAD_FIELD", "BAD_VALUE", "BAD_MASK", "BAD_PREREQ", "DUP_FIELD", "EPERM"}},
	5: {"OFPET_FLOW_MOD_FAILED", "OFPFMFC", []string{"UNKNOWN", "TABLE_FULL", "BAD_TABLE_ID", "OVERLAP", "EPERM", "BAD_TIMEOUT",
		"BAD_COMMAND", "BAD_FLAGS"}},
	6: {"OFPET_GROUP_MOD_FAILED", "OFPGMFC", []string{"GROUP_EXISTS", "INVALID_GROUP", "WEIGHT_UNSUPPORTED", "OUT_OF_GROUPS",
		"OUT_OF_BUCKETS", "CHAINING_UNSUPPORTED", "WATCH_UNSUPPORTED", "LOOP", "UNKNOWN_GROUP", "CHAINED_GROUP", "BAD_TYPE",
		"BAD_COMMAND", "BAD_BUCKET", "BAD_WATCH", "EPERM", "UNKNOWN_BUCKET", "BUCKET_EXISTS"}},
	12: {"OFPET_METER_MOD_FAILED", "OFPMMFC", []string{"UNKNOWN", "METER_EXISTS", "INVALID_METER", "UNKNOWN_METER", "BAD_COMMAND",
		"BAD_FLAGS", "BAD_RATE", "BAD_BURST", "BAD_BAND", "BAD_BAND_VALUE", "OUT_OF_METERS", "OUT_OF_BANDS"}},
	17: {"OFPET_BUNDLE_FAILED", "OFPBFC", []string{"UNKNOWN", "EPERM", "BAD_ID", "BUNDLE_EXIST", "BUNDLE_CLOSED", "OUT_OF_BUNDLES",
		"BAD_TYPE", "BAD_FLAGS", "MSG_BAD_LEN", "MSG_BAD_XID", "MSG_UNSUP", "MSG_CONFLICT", "MSG_TOO_MANY", "MSG_FAILED", "TIMEOUT",
		"BUNDLE_IN_PROGRESS"}},
}

// bundleErrorNames are the codes of ONF extension 230 under the ONF's experimenter id.
var bundleErrorNames = map[uint16]string{
	2300: "UNKNOWN", 2301: "EPERM", 2302: "BAD_ID", 2303: "BUNDLE_EXIST", 2304: "BUNDLE_CLOSED", 2305: "OUT_OF_BUNDLES",
	2306: "BAD_TYPE", 2307: "BAD_FLAGS", 2308: "MSG_BAD_LEN", 2309: "MSG_BAD_XID", 2310: "MSG_UNSUP", 2311: "MSG_CONFLICT",
	2312: "MSG_TOO_MANY", 2313: "MSG_FAILED", 2314: "TIMEOUT", 2315: "BUNDLE_IN_PROGRESS",
}
