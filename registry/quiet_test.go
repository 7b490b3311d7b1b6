package registry

import (
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"airgap.dev/airgap/bundle/bundletest"
)

// TestNothingLeavesTheHost: the engine can send traces to an address from the environment. airgap's registry must not.
func TestNothingLeavesTheHost(t *testing.T) {
	collector, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var calls atomic.Int32
	go func() {
		for {
			conn, err := collector.Accept()
			if err != nil {
				return
			}
			calls.Add(1)
			conn.Close()
		}
	}()
	endpoint := "http://" + collector.Addr().String()
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		t.Setenv(name, endpoint)
	}
	t.Setenv("OTEL_TRACES_EXPORTER", "otlp")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
	r := start(t, bundletest.New(t).Open(t))
	for range 3 {
		resp, _, err := r.get(t, http.MethodGet, "/v2/registry.k8s.io/pause/manifests/3.10.2", "Accept", acceptAll)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%s, %v", resp.Status, err)
		}
	}
	time.Sleep(100 * time.Millisecond)
	collector.Close()
	if n := calls.Load(); n > 0 {
		t.Errorf("%d connections to the collector", n)
	}
	if !strings.Contains(r.log.String(), `"url":"/v2/registry.k8s.io/pause/manifests/3.10.2","status":200`) {
		t.Errorf("access log:\n%s", r.log)
	}
}

// TestSlowClientsAreCheap: many slow clients must not use the memory of a blob each.
func TestSlowClientsAreCheap(t *testing.T) {
	const clients, each = 64, 256 << 10
	f := bundletest.New(t)
	layer, _ := firstLayer(t, f.Images[0].Held)
	r := start(t, f.Open(t))
	before := heap()
	var begun, done sync.WaitGroup
	release := make(chan struct{})
	for range clients {
		begun.Add(1)
		done.Go(func() {
			resp, err := r.client.Get(r.url("/v2/docker.io/library/nginx/blobs/" + layer))
			if err == nil {
				defer resp.Body.Close()
				_, err = resp.Body.Read(make([]byte, 1))
			}
			if err != nil {
				t.Error(err)
			}
			begun.Done()
			<-release
		})
	}
	begun.Wait()
	if now := heap(); now > before+clients*each {
		t.Errorf("%d open blobs use %d KiB each, including the clients; want less than %d", clients, (now-before)/clients>>10, each>>10)
	} else {
		t.Logf("%d KiB for each open blob", (now-before)/clients>>10)
	}
	close(release)
	done.Wait()
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
