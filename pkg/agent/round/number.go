// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package round

import (
	"strconv"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

const (
	// roundNumKey is the key of the bridge's external_ids with the round of the last complete install, in decimal.
	roundNumKey = "roundNum"
	// StartedKey is the key with the round of the last install that was begun. It is not Antrea's: there an agent that
	// ends before its round is complete begins the same round again, by deleting the flows that forward at that moment.
	StartedKey = "startedRoundNum"
	// maxUnfinishedRounds limits the rounds that begin without one being completed.
	maxUnfinishedRounds = 1000
)

// firstRound is the round of a bridge without history.
const firstRound = 1

// Next returns a round that no flow on the bridge has: the one after the last that was completed, or begun since. The
// last completed one is the oldest of which there may be flows; without one there is no previous round, unless one was begun.
func Next(externalIDs map[string]string) openflow.RoundInfo {
	completed, hasCompleted := roundOf(externalIDs, roundNumKey)
	started, hasStarted := roundOf(externalIDs, StartedKey)
	oldest, latest := completed, completed
	if !hasCompleted {
		if !hasStarted {
			return openflow.RoundInfo{RoundNum: firstRound}
		}
		oldest, latest = firstRound, firstRound
	}
	// An agent that does not know the key may have completed rounds after the one that was recorded as begun.
	if hasStarted && started-oldest <= maxUnfinishedRounds {
		latest = started
	}
	return openflow.RoundInfo{RoundNum: latest + 1, PrevRoundNum: &oldest}
}

func roundOf(externalIDs map[string]string, key string) (round uint16, ok bool) {
	text, ok := externalIDs[key]
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		klog.ErrorS(err, "Bridge external_ids has no valid round", "key", key, "value", text)
		return 0, false
	}
	return uint16(n), true
}
