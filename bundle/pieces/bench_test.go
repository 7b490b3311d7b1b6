package pieces

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkPack measures pack and unpack of a bundle, and how many percent larger the pieces are than the bundle.
func BenchmarkPack(b *testing.B) {
	const size = 256 << 20
	dir := stick(b, size)
	for _, test := range []struct {
		name   string
		size   string
		ext    string
		parity int
	}{{"50MiB zip", "50MiB", ".zip", 0}, {"50MiB bin", "50MiB", ".bin", 0}, {"10MiB zip", "10MiB", ".zip", 0}, {"50MiB zip parity 2", "50MiB", ".zip", 2}} {
		out := filepath.Join(b.TempDir(), "out")
		b.Run("pack "+test.name, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				require.NoError(b, os.RemoveAll(out))
				done := pack(b, PackOptions{Dir: dir, Out: out, Size: test.size, Ext: test.ext, Parity: test.parity})
				b.ReportMetric(100*(float64(done.Size)/float64(done.Bytes)-1), "%larger")
			}
		})
		b.Run("unpack "+test.name, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				to := filepath.Join(b.TempDir(), "bank")
				_, err := unpack(out, to, nil)
				require.NoError(b, err)
				require.NoError(b, os.RemoveAll(to))
			}
		})
	}
}
