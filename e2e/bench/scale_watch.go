package bench

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	quiet        = 30 * time.Second // how long requests are counted
	requestLimit = 3                // in that time: one in 15 seconds to detect a lost server, one a minute to detect new kinds
	reportLimit  = time.Second      // from a change of status to the line about it
	broken       = 6                // pods, one at a time
)

// The progress line of the rule about pods.
const (
	podsRule = "System pods run and are ready: "
	podsOK   = podsRule + "ok"
)

// watching measures a running verification: the requests to the API server other than
// watches, how soon it reports a broken pod, and its peak memory.
func (b *bench) watching(ctx context.Context, w *figures, name string, p *populated, s *size) error {
	v, err := b.startVerify(ctx, p)
	if err != nil {
		return err
	}
	defer v.end()
	if _, err := v.until(ctx, podsOK); err != nil {
		return err
	}
	requests, err := p.requests(ctx)
	if err != nil {
		return err
	}
	figure{name + "requests-in-30s", requests, "requests", "limit=3", requests / requestLimit, 1.0}.print(w)
	longest, err := v.longest(ctx, p)
	if err != nil {
		return err
	}
	seconds(name+"broken-pod-told", longest, "limit", reportLimit, 1.0).print(w)
	peak, err := v.peak()
	if err != nil {
		return err
	}
	peak = max(peak, s.ours.peak)
	figure{name + "peak-rss", float64(peak) / 1e6, "MB", fmt.Sprintf("limit=%.0fMB,bare-informers=%.0fMB", verdictPeak/1e6, float64(s.bare.peak)/1e6), float64(peak) / verdictPeak, 1.0}.print(w)
	return nil
}

// requests counts the requests of a verification while the cluster does not change.
func (p *populated) requests(ctx context.Context) (float64, error) {
	from := time.Now()
	select {
	case <-time.After(quiet):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	all, err := p.server.Requests(from, from.Add(quiet))
	if err != nil {
		return 0, err
	}
	n := 0
	for _, r := range all {
		if r.Verb != "watch" {
			n++
		}
	}
	return float64(n), nil
}

// verification is a running `airgap verify`.
type verification struct {
	server // without an address
	lines  <-chan string
}

func (b *bench) startVerify(ctx context.Context, p *populated) (*verification, error) {
	cmd := exec.CommandContext(ctx, b.Program, p.verify("59m")...)
	cmd.Env = append(os.Environ(), b.env...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := make(chan string, 100) // more than verify prints
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(stderr); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return &verification{server{cmd: cmd}, lines}, nil
}

// until waits for a line with the text, and returns the time of the line.
func (v *verification) until(ctx context.Context, text string) (time.Time, error) {
	limited, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	last := "nothing"
	for {
		select {
		case line, more := <-v.lines:
			if !more {
				return time.Time{}, fmt.Errorf("verify ended; its last line: %s", last)
			}
			if strings.Contains(line, text) {
				return time.Now(), nil
			}
			last = line
		case <-limited.Done():
			return time.Time{}, fmt.Errorf("wait for the line %q of verify: %w; its last line: %s", text, limited.Err(), last)
		}
	}
}

// longest breaks pods, one at a time, and returns the longest time from a change of
// status to the line that names the pod.
func (v *verification) longest(ctx context.Context, p *populated) (longest time.Duration, err error) {
	client, err := p.server.Client()
	if err != nil {
		return 0, err
	}
	api := client.CoreV1().Pods("kube-system")
	pods, err := api.List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=kube-proxy", Limit: broken})
	if err != nil {
		return 0, err
	}
	setReady := func(pod string, ready bool) error {
		status := map[bool]string{true: "True", false: "False"}[ready]
		_, err := api.Patch(ctx, pod, types.StrategicMergePatchType, []byte(`{"status":{"conditions":[{"type":"Ready","status":"`+status+`"}]}}`), metav1.PatchOptions{}, "status")
		return err
	}
	for _, pod := range pods.Items {
		began := time.Now()
		if err := setReady(pod.Name, false); err != nil {
			return 0, err
		}
		reported, err := v.until(ctx, "Pod kube-system/"+pod.Name)
		if err != nil {
			return 0, err
		}
		longest = max(longest, reported.Sub(began))
		if err := setReady(pod.Name, true); err != nil {
			return 0, err
		}
		if _, err := v.until(ctx, podsOK); err != nil {
			return 0, err
		}
	}
	return longest, nil
}
