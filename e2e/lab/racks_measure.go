package lab

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Measurement is the result of `airgap netprobe` on all hosts, or of checks on each host.
type Measurement struct {
	Results []Result
	Page    string // for the network administrators
	Took    time.Duration
}

// Result is the result of a check.
type Result struct{ ID, Status, Found, Want, Fix string }

// shownCode matches the code that `airgap netprobe listen` shows.
var shownCode = regexp.MustCompile(`the code, valid once: (\S+)`)

// measureLimit is the time for one measurement, also on a busy machine.
const measureLimit = 4 * time.Minute

// Measure runs `airgap netprobe listen` on node1, and `airgap netprobe join` on the other hosts.
func (r *Racks) Measure(ctx context.Context, program string) (*Measurement, error) {
	ctx, cancel := context.WithTimeout(ctx, measureLimit)
	defer cancel()
	if err := r.writeBundle(); err != nil {
		return nil, err
	}
	began := time.Now()
	page := filepath.Join(r.dir, "page.html")
	listen := r.command(ctx, Node(1), program, "netprobe", "listen", "--progress", "plain", "--output", "json", "--network-page", page,
		"--require-key", filepath.Join(r.bundled, bundleKey), "--wait", "30s", "--port", fmt.Sprint(meetingPort), r.bundled)
	var out, screen bytes.Buffer
	listen.Stdout = &out
	stderr, err := listen.StderrPipe()
	if err == nil {
		err = listen.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("measure: %w", err)
	}
	var joins sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		fmt.Fprintln(&screen, lines.Text())
		code := shownCode.FindStringSubmatch(lines.Text())
		if code == nil {
			continue
		}
		for i := 2; i <= r.Hosts; i++ {
			joins.Go(func() {
				if err := r.join(ctx, program, i, code[1]); err != nil {
					mu.Lock()
					defer mu.Unlock()
					errs = append(errs, err)
				}
			})
		}
	}
	exit := listen.Wait()
	joins.Wait()
	m := &Measurement{Took: time.Since(began)}
	if err := json.Unmarshal(out.Bytes(), m); err != nil || len(m.Results) == 0 {
		return nil, errors.Join(append(errs, fmt.Errorf("measure: %w: %w\n%s%s", err, exit, &screen, &out))...)
	}
	text, err := os.ReadFile(page)
	m.Page = string(text)
	return m, errors.Join(append(errs, err)...)
}

func (r *Racks) join(ctx context.Context, program string, host int, code string) error {
	cmd := r.command(ctx, Node(host), program, "netprobe", "join", fmt.Sprintf("%s:%d", r.Addr(1), meetingPort))
	cmd.Stdin = strings.NewReader(code + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("join on %s: %w: %s", Node(host), err, bytes.TrimSpace(out))
	}
	return nil
}

// Preflight runs one check of `airgap preflight` on each host. In Found, each line begins with the
// name of its host.
func (r *Racks) Preflight(ctx context.Context, program, check string) (*Measurement, error) {
	ctx, cancel := context.WithTimeout(ctx, measureLimit)
	defer cancel()
	if err := r.writeBundle(); err != nil {
		return nil, err
	}
	began, all := time.Now(), &Measurement{}
	for i := 1; i <= r.Hosts; i++ {
		cmd := r.command(ctx, Node(i), program, "preflight", "--only="+check, "--output", "json", "--node", Node(i), "--require-key", filepath.Join(r.bundled, bundleKey), r.bundled)
		var out, screen bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &screen
		exit := cmd.Run() // its status is in the report, too
		var m Measurement
		if err := json.Unmarshal(out.Bytes(), &m); err != nil || len(m.Results) != 1 {
			return nil, fmt.Errorf("check %s on %s: %w: %w\n%s%s", check, Node(i), err, exit, &screen, &out)
		}
		result := m.Results[0]
		result.Found = Node(i) + " " + strings.ReplaceAll(result.Found, "\n", "\n"+Node(i)+" ")
		all.Results = append(all.Results, result)
	}
	all.Took = time.Since(began)
	return all, nil
}
