// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package conntrack

import (
	"fmt"

	"github.com/antrea-oncache/antrea/pkg/nlattr"
)

// State is conntrack's state of a TCP connection (enum tcp_conntrack, include/uapi/linux/netfilter/nf_conntrack_tcp.h).
type State uint8

// States of connections.
const (
	StateSynSent     State = 1
	StateSynReceived State = 2
	StateEstablished State = 3
	StateFinWait     State = 4
	StateCloseWait   State = 5
	StateLastAck     State = 6
	StateTimeWait    State = 7
	StateClose       State = 8
	StateSynSent2    State = 9
)

// stateNames are the kernel's names.
var stateNames = []string{"NONE", "SYN_SENT", "SYN_RECV", "ESTABLISHED", "FIN_WAIT", "CLOSE_WAIT", "LAST_ACK", "TIME_WAIT", "CLOSE", "SYN_SENT2"}

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// Flags are conntrack's notes about one direction of a TCP connection (IP_CT_TCP_FLAG_*, same file).
type Flags uint8

// Flags that are used here.
const (
	// FlagSACKPermitted: the direction may send selective acknowledgements.
	FlagSACKPermitted Flags = 0x02
	// FlagCloseInit: the direction has closed first, so a SYN after the end begins a new connection.
	FlagCloseInit Flags = 0x04
	// FlagLiberal: segments outside of the direction's window pass.
	FlagLiberal Flags = 0x08
	// FlagDataUnacknowledged: not all data of the direction has been acknowledged. While either direction has the flag,
	// the connection has the timeout nf_conntrack_tcp_timeout_unacknowledged.
	FlagDataUnacknowledged Flags = 0x10
	// FlagMaxAckSet: the direction's highest acknowledgement is known, and a RST of the other direction that lies before it is
	// invalid.
	FlagMaxAckSet Flags = 0x20
)

// TCP is conntrack's view of a TCP connection.
type TCP struct {
	State State
	// Flags are the flags of the original and of the reply direction.
	Flags [2]Flags
}

// Attributes of CTA_PROTOINFO_TCP.
const (
	protoInfoTCP           = 1
	protoInfoState         = 1
	protoInfoFlagsOriginal = 4
	protoInfoFlagsReply    = 5
)

// parseProtoInfo returns nil for protocols other than TCP.
func parseProtoInfo(value []byte) (*TCP, error) {
	protocols, err := nlattr.Parse(value)
	if err != nil {
		return nil, err
	}
	for _, protocol := range protocols {
		if protocol.Attr.Type&typeMask != protoInfoTCP {
			continue
		}
		attributes, err := nlattr.Parse(protocol.Value)
		if err != nil {
			return nil, err
		}
		info := &TCP{}
		for _, a := range attributes {
			var n uint8
			if n, err = number[uint8](a.Value, 1); err != nil {
				return nil, err
			}
			switch a.Attr.Type & typeMask {
			case protoInfoState:
				info.State = State(n)
			case protoInfoFlagsOriginal:
				info.Flags[0] = Flags(n)
			case protoInfoFlagsReply:
				info.Flags[1] = Flags(n)
			}
		}
		return info, nil
	}
	return nil, nil
}
