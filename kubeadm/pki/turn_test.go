package pki

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/verify/apitest"
)

// TestTurn checks with a real API server that one control-plane host has the turn at a time, that
// the next host gets it after the release, and that an interrupted host continues immediately.
func TestTurn(t *testing.T) {
	server := apitest.Start(t)
	turn := func(node string) Turn {
		return Turn{Client: server.Client(t), Node: node, Say: t.Logf}
	}
	release, err := turn("cp1").Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again, err := turn("cp1").Take(t.Context()) // killed, and run again
	if err != nil {
		t.Fatal(err)
	}
	var says atomic.Value
	impatient := turn("cp2")
	impatient.Wait = time.Second
	impatient.Say = func(_ string, args ...any) { says.Store(args[0]) }
	if _, err := impatient.Take(t.Context()); err == nil || !strings.Contains(err.Error(), TurnLease) || says.Load() != "cp1" {
		t.Errorf("while cp1 has the turn: got %v, waits for %v", err, says.Load())
	}
	var first atomic.Bool
	second := make(chan error, 1)
	go func() {
		end, err := turn("cp2").Take(t.Context())
		if err == nil {
			end()
			if !first.Load() {
				err = errors.New("cp2 had its turn before cp1 had ended")
			}
		}
		second <- err
	}()
	first.Store(true)
	again()
	release()
	if err := <-second; err != nil {
		t.Error(err)
	}
	lease, err := server.Client(t).CoordinationV1().Leases(metav1.NamespaceSystem).Get(t.Context(), TurnLease, metav1.GetOptions{})
	if err != nil || *lease.Spec.HolderIdentity != "" {
		t.Errorf("the lease is %+v afterwards (%v)", lease.Spec, err)
	}
}

// TestTurnEndsDuringARenewal checks that the turn ends although a renewal reaches the API server
// after the release has read the lease. The first renewal starts with the turn.
func TestTurnEndsDuringARenewal(t *testing.T) {
	client := apitest.Start(t).Client(t)
	for range 50 {
		release, err := Turn{Client: client, Node: "cp1", Say: t.Logf}.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		release()
		lease, err := client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(t.Context(), TurnLease, metav1.GetOptions{})
		if err != nil || *lease.Spec.HolderIdentity != "" {
			t.Fatalf("the lease is %v afterwards (%v)", lease, err)
		}
	}
}

// TestNoTurn checks that an unreachable API server is not reported as the turn of another host.
func TestNoTurn(t *testing.T) {
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "https://127.0.0.1:1", Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	gone := Turn{Client: client, Node: "cp1", Say: t.Logf, answer: 50 * time.Millisecond}
	if _, err := gone.Take(t.Context()); !errors.Is(err, ErrNoTurn) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := gone.Take(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: got %v", err)
	}
}
