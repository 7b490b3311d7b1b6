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
	quiet        = 30 * time.Second // in which requests are counted
	requestLimit = 3                // in that time: one in fifteen seconds, to learn that the server is lost, and one a minute for kinds that may come
	tellingLimit = time.Second
	broken       = 6 // pods, one after the other
)

// The line of the rule about pods, as progress tells it.
const (
	podsRule = "System pods run and are ready: "
	podsHold = podsRule + "ok"
)

// watching measures a verification that goes on: what it asks of the API server
// beyond its watches, how soon it names a pod that breaks, and the most memory
// that it ever had.
func (b *bench) watching(ctx context.Context, w *figures, name string, p *populated, s *size) error {
	v, err := b.startVerify(ctx, p)
	if err != nil {
		return err
	}
	defer v.end()
	if _, err := v.until(ctx, podsHold); err != nil {
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
	seconds(name+"broken-pod-told", longest, "limit", tellingLimit, 1.0).print(w)
	peak, err := v.peak()
	if err != nil {
		return err
	}
	peak = max(peak, s.ours.peak)
	figure{name + "peak-rss", float64(peak) / 1e6, "MB", fmt.Sprintf("limit=%.0fMB,bare-informers=%.0fMB", verdictPeak/1e6, float64(s.bare.peak)/1e6), float64(peak) / verdictPeak, 1.0}.print(w)
	return nil
}

// requests counts what verification asks of a cluster in which nothing happens.
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
	server // of which it has only the process
	lines  <-chan string
}

func (b *bench) startVerify(ctx context.Context, p *populated) (*verification, error) {
	cmd := exec.CommandContext(ctx, b.Program, p.verify("59m")...)
	cmd.Env = append(os.Environ(), b.env...)
	said, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := make(chan string, 100) // more than it ever says
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(said); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return &verification{server{cmd: cmd}, lines}, nil
}

// until waits for a line that has the text, and says when it came.
func (v *verification) until(ctx context.Context, text string) (time.Time, error) {
	limited, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	last := "nothing"
	for {
		select {
		case line, more := <-v.lines:
			if !more {
				return time.Time{}, fmt.Errorf("verify ended; its last words: %s", last)
			}
			if strings.Contains(line, text) {
				return time.Now(), nil
			}
			last = line
		case <-limited.Done():
			return time.Time{}, fmt.Errorf("wait for verify to say %q: %w; it said %s", text, limited.Err(), last)
		}
	}
}

// longest breaks pods, one after the other, and returns the longest time from a
// change of status to the line that names the pod.
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
	become := func(pod string, ready bool) error {
		status := map[bool]string{true: "True", false: "False"}[ready]
		_, err := api.Patch(ctx, pod, types.StrategicMergePatchType, []byte(`{"status":{"conditions":[{"type":"Ready","status":"`+status+`"}]}}`), metav1.PatchOptions{}, "status")
		return err
	}
	for _, pod := range pods.Items {
		began := time.Now()
		if err := become(pod.Name, false); err != nil {
			return 0, err
		}
		told, err := v.until(ctx, "Pod kube-system/"+pod.Name)
		if err != nil {
			return 0, err
		}
		longest = max(longest, told.Sub(began))
		if err := become(pod.Name, true); err != nil {
			return 0, err
		}
		if _, err := v.until(ctx, podsHold); err != nil {
			return 0, err
		}
	}
	return longest, nil
}
