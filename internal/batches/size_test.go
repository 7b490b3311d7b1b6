package batches_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/batches"
)

func TestSize(t *testing.T) {
	for _, tc := range []struct {
		size    batches.Size
		workers int
		want    int // 0: an error
	}{
		{"", 300, 1},
		{"1", 300, 1},
		{"12", 300, 12},
		{"12", 3, 12},
		{"10%", 300, 30},
		{"10%", 299, 29},
		{"10%", 5, 1},
		{"1%", 10, 1},
		{"100%", 7, 7},
		{"10%", 0, 1},
		{"0", 300, 0},
		{"-1", 300, 0},
		{"+3", 300, 0},
		{"03", 300, 0},
		{"0%", 300, 0},
		{"101%", 300, 0},
		{"10 %", 300, 0},
		{" 10%", 300, 0},
		{"2.5%", 300, 0},
		{"10%%", 300, 0},
		{"%", 300, 0},
		{"ten", 300, 0},
		{"1e2", 300, 0},
		{"5001", 300, 0},
		{"99999999999999999999", 300, 0},
	} {
		got, err := tc.size.Of(tc.workers)
		assert.Equal(t, tc.want, got, "%q of %d", tc.size, tc.workers)
		assert.Equal(t, tc.want == 0, err != nil, "%q: %v", tc.size, err)
	}
}

func TestValidate(t *testing.T) {
	assert.Empty(t, batches.Config{Batch: "10%", MaxUnavailable: 3}.Validate(field.NewPath("upgrade")))
	assert.Empty(t, batches.Config{}.Validate(field.NewPath("upgrade")))
	all := batches.Config{Batch: "10 %"}.Validate(field.NewPath("upgrade"))
	assert.EqualError(t, all.ToAggregate(), `upgrade.batch: Invalid value: "10 %": want a number of workers such as 12, or a part of all workers such as 10%`)
}
