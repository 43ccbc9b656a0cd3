// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// udpReport is the part of iperf3's report on UDP that is read.
type udpReport struct {
	Error string `json:"error"`
	End   struct {
		Sum struct {
			Lost    int `json:"lost_packets"`
			Packets int `json:"packets"`
		} `json:"sum"`
	} `json:"end"`
	// Server is the receiver's output of each second.
	Server string `json:"server_output_text"`
}

// losses are the seconds in which packets were lost: "12.00-13.00 23/100".
func (r *udpReport) losses() (lines []string) {
	for _, m := range lossyInterval.FindAllStringSubmatch(r.Server, -1) {
		lines = append(lines, m[1]+" "+m[2])
	}
	return lines
}

var lossyInterval = regexp.MustCompile(`(?m)^\[ *\d+\] +(\d[\d.]*-[\d.]+) +sec .* ([1-9]\d*/ *\d+) \(`)

// pair are a client and a server on different Nodes; the server has two servers of iperf3, for TCP and UDP.
func (l *life) pair(t *testing.T) (client, server *corev1.Pod) {
	t.Helper()
	namespace := l.namespace(t)
	l.createPod(t, namespace, "client", l.nodes[0], podOptions{})
	l.createPod(t, namespace, "server", l.nodes[1], podOptions{command: []string{"sh", "-c", "iperf3 -s -p 5202 & exec iperf3 -s -p 5201"}})
	return l.waitForPod(t, namespace, "client"), l.waitForPod(t, namespace, "server")
}

// datagrams is 25 packets a second, so that what is lost was lost in the network. At 100 a second, sockets kept about 130 of those that came
// while other programs had a small Node's processor, and lost the others.
const datagrams = "100K"

// duringTraffic keeps a TCP connection and UDP packets going for a time in which change must have ended. The connection survives, and losses are
// counted.
func (l *life) duringTraffic(t *testing.T, client, server *corev1.Pod, length time.Duration, change func()) {
	t.Helper()
	gap, lost := l.measureTraffic(t, client, server, length, change)
	require.LessOrEqual(t, gap, lifeInterruption)
	require.LessOrEqual(t, lost, lifeLoss)
}

// measureTraffic is duringTraffic without bounds: it returns for how long the connection stood still, and how many UDP packets were lost.
func (l *life) measureTraffic(t *testing.T, client, server *corev1.Pod, length time.Duration, change func()) (gap time.Duration, lost int) {
	t.Helper()
	length = limit(length)
	seconds := strconv.Itoa(int(length.Seconds()))
	begun := time.Now()
	tcp := l.startIperf(t, client, server.Status.PodIP, "--port", "5201", "--time", seconds, "--bitrate", modest)
	udp := l.start(t, client, length+time.Minute, "iperf3", "--json", "--client", server.Status.PodIP, "--port", "5202", "--udp", "--length", "500", "--bitrate", datagrams,
		"--time", seconds, "--get-server-output")
	change()
	require.Lessf(t, time.Since(begun), length, "the change has taken longer than the traffic")
	t.Logf("the change has taken %.1f s of %s s of traffic", time.Since(begun).Seconds(), seconds)
	report := tcp()
	r := udp()
	var received udpReport
	require.NoErrorf(t, json.Unmarshal([]byte(r.stdout), &received), "%s%s%v", r.stdout, r.stderr, r.err)
	require.Empty(t, received.Error)
	t.Logf("TCP: %.1f Mbit/s of 20, longest interruption %s; UDP: %d of %d packets lost", report.End.Received.BitsPerSecond/1e6, longestGap(report),
		received.End.Sum.Lost, received.End.Sum.Packets)
	t.Logf("lost UDP packets, by seconds since %s: %s", begun.UTC().Format(time.TimeOnly), strings.Join(received.losses(), "; "))
	require.Greater(t, received.End.Sum.Packets, int(length.Seconds())*22, "the datagrams were not sent")
	return longestGap(report), received.End.Sum.Lost
}
