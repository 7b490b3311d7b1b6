package ui

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestQuote(t *testing.T) {
	assert.Equal(t, "/mnt/stick/bank", Quote("/mnt/stick/bank"))
	assert.Equal(t, "'/run/media/root/My Stick/bank'", Quote("/run/media/root/My Stick/bank"))
	for _, word := range []string{"", "a b", "it's", "$HOME", "a;b", "*", "가"} {
		out, err := exec.Command("sh", "-c", "printf %s "+Quote(word)).Output()
		require.NoError(t, err)
		assert.Equal(t, word, string(out))
	}
}
