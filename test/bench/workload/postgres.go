// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/result"
)

const (
	postgresPort = 7500
	// postgresClients is the number of concurrent sessions of pgbench.
	postgresClients = 4
	// postgresUser owns the database: postgres refuses to run as root.
	postgresUser = "postgres"
)

// pgbench is PostgreSQL with its own benchmark: transactions as in TPC-B, or single queries with --select-only. The
// database is small and in memory, and nothing waits for a disk.
func pgbench(m Machine, name string, flags ...string) Workload {
	return Workload{
		Name: name, Tool: "pgbench", Flows: postgresClients,
		Servers: func(link bed.Link, state result.State) ([]Server, error) {
			data, err := database(filepath.Join(m.Dir, "postgres-"+string(state)))
			if err != nil {
				return nil, err
			}
			args := append(asPostgres(), data.program("postgres"), "-D", data.dir, "-h", link.Address.String(), "-p", strconv.Itoa(postgresPort),
				"-k", "", "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "autovacuum=off")
			return []Server{{Args: args, Protocol: "tcp", Port: postgresPort}}, nil
		},
		Measure: func(ctx context.Context, on Target, length time.Duration) (o Outcome, err error) {
			at := []string{"-h", on.Address.String(), "-p", strconv.Itoa(postgresPort), "-U", postgresUser}
			// Tables of an earlier workload are reused.
			if _, err := on.Client.Exec(ctx, append(append([]string{"psql", "-q"}, at...), "-c", "SELECT 1 FROM pgbench_branches")...); err != nil {
				if _, err := on.Client.Exec(ctx, append(append([]string{"pgbench", "-i", "-q", "-s", strconv.Itoa(postgresClients)}, at...), "postgres")...); err != nil {
					return o, err
				}
			}
			args := append([]string{"pgbench", "-n", "-c", strconv.Itoa(postgresClients), "-j", "1", "-T", strconv.Itoa(wholeSeconds(length))}, at...)
			out, err := on.Client.Exec(ctx, append(append(args, flags...), "postgres")...)
			if err != nil {
				return o, err
			}
			return parsePgbench(out)
		},
	}
}

// files are the files of a database server.
type files struct{ dir, binaries string }

func (c files) program(name string) string { return filepath.Join(c.binaries, name) }

func asPostgres() []string {
	return []string{"setpriv", "--reuid=" + postgresUser, "--regid=" + postgresUser, "--clear-groups"}
}

// database makes an empty database, or finds the database of an earlier workload.
func database(dir string) (c files, err error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(found) == 0 {
		return c, errors.Join(errors.New("no PostgreSQL in /usr/lib/postgresql (hack/install-deps.sh bench installs it)"), err)
	}
	c = files{dir: dir, binaries: slices.Max(found)}
	if _, err := os.Stat(filepath.Join(dir, "PG_VERSION")); err == nil {
		return c, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return c, err
	}
	for _, args := range [][]string{
		{"chown", postgresUser, dir},
		append(asPostgres(), c.program("initdb"), "-D", dir, "--auth=trust", "--no-sync", "--locale=C", "--encoding=UTF8"),
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return c, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	rules, err := os.OpenFile(filepath.Join(dir, "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return c, err
	}
	_, err = rules.WriteString("host all all all trust\n") // the network is a namespace of its own
	return c, errors.Join(err, rules.Close())
}

var (
	pgbenchDone    = regexp.MustCompile(`number of transactions actually processed: (\d+)`)
	pgbenchRate    = regexp.MustCompile(`tps = ([0-9.]+)`)
	pgbenchLatency = regexp.MustCompile(`latency average = ([0-9.]+) ms`)
)

func parsePgbench(out string) (o Outcome, err error) {
	done, rate, latency := pgbenchDone.FindStringSubmatch(out), pgbenchRate.FindStringSubmatch(out), pgbenchLatency.FindStringSubmatch(out)
	if done == nil || rate == nil || latency == nil || done[1] == "0" {
		return o, fmt.Errorf("pgbench has measured nothing: %s", excerpt(out))
	}
	o.Transactions = number(done[1])
	o.add(Rate, "1/s", false, number(rate[1]))
	o.add("mean", "us", true, 1000*number(latency[1]))
	return o, nil
}
