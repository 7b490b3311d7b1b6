package nextboot

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestReadHostname(t *testing.T) {
	for text, want := range map[string]Hostname{
		"":                                {},
		"bank-01\n":                       {"bank-01", Place{"/etc/hostname", 1}},
		"# by the installer\n\n bank-01 ": {"bank-01", Place{"/etc/hostname", 3}},
		"bank-01.example.\nother\n":       {"bank-01.example", Place{"/etc/hostname", 1}},
		"localhost.localdomain\n":         {},
		"localhost\nbank-01\n":            {},
	} {
		got, err := ReadHostname(fstest.MapFS{"etc/hostname": {Data: []byte(text)}})
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
	got, err := ReadHostname(fstest.MapFS{})
	require.NoError(t, err)
	require.Zero(t, got)
}
