// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

const wantScreen = `ONCache: Active, mode enforce                                                                 20:15:46  every 2s, for 6s
local Pods 23 (and 1 kept on Open vSwitch)  remote Nodes 11  uplink eth0  tunnel geneve/6081  lease 5s  memory 356.0 MiB

                        EGRESS     INGRESS
packets fast           2.50k/s      250k/s
packets missed            10/s       5.0/s
hit rate               99.60 %    100.00 %
flows active               398         397
flows cached               412         409
entries learned          1.5/s         0/s
leases renewed            80/s        79/s
missed            lease 13/s, no entry 2.0/s
not cacheable     tcp flags 1.0/s
evictions         pod 58, node 1, all 2

egress fast            2.50k/s |                                                         ▂▅█| max 2.50k/s
ingress fast            250k/s |                                                         ███| max 250k/s

PACKETS BYTES   DIRECTION PROTO SOURCE                           DESTINATION      LOCAL-POD   REMOTE-NODE STATE
2.00k/s 200k/s  egress    UDP   [fd00::1:9]:53211                [fd00::3:4]:8125 shop/cart-1 node-3      lease
50/s    75.0k/s ingress   TCP   10.10.2.17:5432 > 10.96.4.1:5432 10.10.1.5:40122  shop/web-0  node-2      active
`

const wantRows = `TIME     STATE       EGRESS-FAST INGRESS-FAST EGRESS-MISSED INGRESS-MISSED HIT-RATE  ACTIVE  LEARNED EVICTED BUSIEST
20:15:40 Active      -           -            -             -              -         795     -       -       -
20:15:42 Active      500/s       250k/s       10/s          5.0/s          99.99 %   795     1.5/s   0       shop/cart-1 egress UDP [fd00::1:9]:53211 to [fd00::3:4]:8125 2.00k/s
20:15:44 Suspended   1.50k/s     250k/s       10/s          5.0/s          99.99 %   795     1.5/s   1       transport interface eth0 is down
`
