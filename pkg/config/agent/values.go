// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

// Values of trafficEncapMode: how Pod traffic between Nodes travels.
const (
	EncapModeEncap             = "encap"
	EncapModeNoEncap           = "noEncap"
	EncapModeHybrid            = "hybrid"
	EncapModeNetworkPolicyOnly = "networkPolicyOnly"
)

// Values of trafficEncryptionMode: what encrypts Pod traffic between Nodes.
const (
	EncryptionNone      = "none"
	EncryptionIPsec     = "ipsec"
	EncryptionWireGuard = "wireGuard"
)

// Values of tunnelType.
const (
	TunnelGeneve = "geneve"
	TunnelVXLAN  = "vxlan"
	TunnelGRE    = "gre"
	TunnelSTT    = "stt"
)

// Values of podInterfaceType.
const (
	PodInterfaceVeth   = "veth"
	PodInterfaceNetkit = "netkit"
	PodInterfaceAuto   = "auto"
)

// Values of oncache.tunnel.
const (
	ONCacheTunnelEncap   = "encap"
	ONCacheTunnelRewrite = "rewrite"
)

// Values of networkPolicy.establishedConnections.
const (
	ConnectionsKeep = "keep"
	ConnectionsCut  = "cut"
)
