package runtime

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/host/hosttest"
)

func TestValidateRuntime(t *testing.T) {
	for name, tc := range map[string]struct {
		runtime Config
		want    []string
	}{
		"CRI-O":     {Config{Name: "crio", Overrides: map[string]any{"crio": map[string]any{}}}, nil},
		"CRI-O's":   {Config{Name: "crio", RuncVersion: "1.5.2", Overrides: map[string]any{"plugins": 1}}, []string{"runtime.runcVersion: Forbidden", "all below crio"}},
		"old CRI-O": {Config{Name: "crio", Version: "1.34.0"}, []string{"expected 1.35.0 or later"}},
		"unknown":   {Config{Name: "docker"}, []string{"runtime.name: Unsupported value: \"docker\""}},
		"too old":   {Config{Version: "1.6.33", RuncVersion: "1.2.0"}, []string{"expected 1.7.28 or later", "expected 1.3.0 or later"}},
		"no number": {Config{Version: "latest"}, []string{"expected a version such as"}},
		"version":   {Config{Overrides: map[string]any{"version": 4}}, []string{"runtime.overrides.version: Forbidden"}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.runtime.Default("1.36.3")
			hosttest.Compare(t, tc.runtime.Validate(field.NewPath("runtime")), tc.want)
		})
	}
}

func TestFiles(t *testing.T) {
	r := Config{Version: "2.3.7", RuncVersion: "1.5.2"}
	files := r.Files("amd64")
	want := "https://github.com/containerd/containerd/releases/download/v2.3.7/containerd-2.3.7-linux-amd64.tar.gz"
	if files[0].URL != want || files[0].ChecksumURL != want+".sha256sum" {
		t.Errorf("got %+v", files[0])
	}
	want = "https://github.com/opencontainers/runc/releases/download/v1.5.2/runc."
	if files[1].URL != want+"amd64" || files[1].ChecksumURL != want+"sha256sum" || files[1].Name != "runc-1.5.2-linux-amd64" {
		t.Errorf("got %+v", files[1])
	}
}
