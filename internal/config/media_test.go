package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMediaGate: a bad value has its line and the expected form.
func TestMediaGate(t *testing.T) {
	file := func(gate string) []byte {
		return []byte(`apiVersion: airgap.dev/v1alpha1
kind: Cluster
name: test
kubernetes: {version: "1.36.3"}
nodes:
  - {name: cp1, address: 10.0.0.11, roles: [control-plane, worker]}
packages:
  os: el9
  repositories: [{name: base, baseURL: "https://rpms.example/", gpgKeys: ["https://rpms.example/key.asc"]}]
media:
  gate: ` + gate + "\n")
	}
	c, err := Parse("airgap.yaml", file(`{maxFileSize: 2000MiB, extensions: [.zip], changes: [names, text], opensArchives: true}`))
	require.NoError(t, err)
	require.EqualValues(t, 2000<<20, c.Media.Gate.MaxBytes())
	require.True(t, c.Media.Gate.Makes("text"))
	for gate, want := range map[string]string{
		`{maxFileSize: 2}`:             "put it in quotes",
		`{maxFileSize: "2"}`:           "at least 10MiB",
		`{maxFileSize: 2 gigabytes}`:   "at least 10MiB",
		`{extensions: [zip]}`:          "want a dot",
		`{changes: [contents]}`:        "want one of names, text, programs",
		`{maxSize: 2GiB}`:              "unknown field",
		`{opensArchives: sometimes}`:   "want boolean",
		`[{maxFileSize: "2000MiB"}]`:   "want object",
		`{extensions: ".zip"}`:         "want array",
		`{extensions: [".zip", ".Z"]}`: "want a dot",
	} {
		_, err := Parse("airgap.yaml", file(gate))
		require.ErrorContains(t, err, want, gate)
		require.True(t, strings.HasPrefix(err.Error(), "airgap.yaml:11:"), "%v", err)
	}
}
