package etcd

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/verify/apitest"
)

// TestSnapshot takes one of a real etcd.
func TestSnapshot(t *testing.T) {
	server := apitest.Start(t)
	word := strings.Repeat("a word that a snapshot has to hold ", 2000)
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Data: map[string]string{"word": word}}
	if _, err := server.Client(t).CoreV1().ConfigMaps("default").Create(t.Context(), c, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	etcd := &Client{URL: server.Etcd()}
	var announced int64
	var got bytes.Buffer
	if err := etcd.Snapshot(t.Context(), func(n int64) error { announced = n; return nil }, &got); err != nil {
		t.Fatal(err)
	}
	size := int64(got.Len())
	if announced != size || !bytes.Contains(got.Bytes(), []byte(word)) {
		t.Errorf("%d bytes, announced were %d; the word is in it: %v", size, announced, bytes.Contains(got.Bytes(), []byte(word)))
	}
	if err := CheckSnapshot(bytes.NewReader(got.Bytes()), size); err != nil {
		t.Error(err)
	}
	if err := CheckSnapshot(bytes.NewReader(got.Bytes()), size-1); err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("one that is cut off: %v", err)
	}
	got.Bytes()[size/2] ^= 1
	if err := CheckSnapshot(bytes.NewReader(got.Bytes()), size); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("one with a wrong bit: %v", err)
	}

	full := errors.New("no room")
	got.Reset()
	if err := etcd.Snapshot(t.Context(), func(int64) error { return full }, &got); !errors.Is(err, full) || got.Len() > 0 {
		t.Errorf("without room: %v, and %d bytes", err, got.Len())
	}
	ended, cancel := context.WithCancel(t.Context())
	if err := etcd.Snapshot(ended, func(int64) error { cancel(); return nil }, &got); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
