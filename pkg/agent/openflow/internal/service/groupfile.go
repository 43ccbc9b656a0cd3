// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	"github.com/antrea-oncache/antrea/pkg/agent/statefile"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// groupFile keeps the ids of groups for the next agent. Each line is a JSON object: the first has the round of the agent that writes, the rest
// the groups that a port has from then on. A line that was cut off cannot be read, and then the port gets new groups.
type groupFile struct {
	path  string
	round uint16
	// recorded is the content, of lines lines. broken is set if the file may differ: it is written as a whole next time.
	recorded map[string]portGroups
	lines    int
	broken   bool
}

// groupLine is one line. Only the first has Round, and it has nothing else.
type groupLine struct {
	Round  *uint16    `json:"round,omitempty"`
	Port   string     `json:"port,omitempty"`
	Groups portGroups `json:"groups"`
}

// compactionSlack is the number of lines by which the file may exceed twice what it needs.
const compactionSlack = 1000

// KeepGroups makes ports keep their groups from one agent to the next, in a file. Call it after Initialize, before the first Service is
// installed. After an error the groups are new, and kept from then on.
func (s *Services) KeepGroups(path string) error {
	return s.socket.Change(func(t pipeline.Turn) error {
		former, err := readGroups(path, s.socket.FormerRounds())
		g := &s.groups
		g.restored = map[string]portGroups{}
		for name, groups := range former {
			// Other ids in the file are of groups that are gone, or never came.
			if groups = groups.only(g.former); groups != (portGroups{}) {
				g.restored[name] = groups
			}
		}
		g.file = &groupFile{path: path, round: t.G.Round, recorded: maps.Clone(g.restored)}
		g.tellRestored()
		return errors.Join(err, g.file.write())
	})
}

// readFormerGroups reads which groups flows of former agents lead to.
func (g *serviceGroups) readFormerGroups(table uint8, stats []of.FlowStats) {
	for i := range stats {
		if stats[i].Flow.Table == table {
			for _, id := range of.GroupsOf(stats[i].Flow.Actions) {
				g.former[id] = true
			}
		}
	}
}

// readGroups returns what an agent of one of the rounds has written: agents that do not know the file may have worked since another one.
func readGroups(path string, rounds []uint16) (map[string]portGroups, error) {
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the groups of Services that an earlier agent has stored: %w", err)
	}
	groups, header := map[string]portGroups{}, groupLine{}
	first, rest, _ := bytes.Cut(content, []byte("\n"))
	if err := json.Unmarshal(first, &header); err != nil || header.Round == nil {
		return nil, fmt.Errorf("the groups of Services in %s: the first line is %.100q, want the round of an agent", path, first)
	}
	if !slices.Contains(rounds, *header.Round) {
		return nil, nil
	}
	for line := range bytes.Lines(rest) {
		var l groupLine
		if err := json.Unmarshal(line, &l); err != nil || l.Port == "" {
			klog.ErrorS(err, "Ignoring a line about the groups of a Service, which gets new ones", "file", path, "line", string(line))
			continue
		}
		groups[l.Port] = l.Groups
	}
	return groups, nil
}

// record stores that a port may have these groups from now on. An error only means that the next agent does not know it.
func (f *groupFile) record(name string, groups portGroups) {
	if f.recorded[name] == groups {
		return
	}
	if f.recorded[name] = groups; groups == (portGroups{}) {
		delete(f.recorded, name)
	}
	err := f.append(groupLine{Port: name, Groups: groups})
	if err != nil && !f.broken {
		klog.ErrorS(err, "The groups of Services are not stored; until the next agent knows its Services, policies that name them do not match", "file", f.path)
	}
	f.broken = err != nil
}

func (f *groupFile) append(line groupLine) error {
	if f.broken || f.lines > 2*len(f.recorded)+compactionSlack {
		return f.write()
	}
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	f.lines++
	_, err = file.Write(line.text())
	return errors.Join(err, file.Close())
}

// write replaces the file.
func (f *groupFile) write() error {
	content := groupLine{Round: &f.round}.text()
	for _, name := range slices.Sorted(maps.Keys(f.recorded)) {
		content = append(content, groupLine{Port: name, Groups: f.recorded[name]}.text()...)
	}
	err := statefile.Replace(f.path, content)
	f.lines, f.broken = len(f.recorded), err != nil
	if err != nil {
		return fmt.Errorf("store the groups of Services: %w", err)
	}
	return nil
}

func (l groupLine) text() []byte {
	text, err := json.Marshal(l)
	if err != nil {
		panic(err) // It has only numbers and a string.
	}
	return append(text, '\n')
}
