package medium

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPages: the pages have the speeds of virtual media that the plan uses, and the options of mkfs.xfs.
func TestPages(t *testing.T) {
	virtual := ways()[0]
	require.Contains(t, virtual.name, "virtual media")
	slow, fast := virtual.slow/1_000_000, virtual.fast/1_000_000
	xfs := (&Medium{Type: "xfs", Mkfs: [2]int{6, 10}}).withoutXFS()
	for page, speeds := range map[string]string{
		"gates.md": fmt.Sprintf("%d to %d MB/s", slow, fast), "walkthrough.md": fmt.Sprintf("%d to %d MB/s", slow, fast),
		"ko/gates.md": fmt.Sprintf("%d~%d MB/s", slow, fast), "ko/walkthrough.md": fmt.Sprintf("%d~%d MB/s", slow, fast),
	} {
		text, err := os.ReadFile("../../docs/" + page)
		require.NoError(t, err)
		assert.Contains(t, string(text), speeds, page)
		assert.Equal(t, strings.Count(string(text), " MB/s"), strings.Count(string(text), speeds), page)
		if strings.HasSuffix(page, "gates.md") {
			assert.Contains(t, string(text), "`mkfs.xfs "+strings.TrimSpace(xfs)+"`", page)
		}
	}
}
