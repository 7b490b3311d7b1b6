package files

import (
	"testing"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/distribution/distribution/v3/registry/storage/driver/testsuites"
	"github.com/stretchr/testify/suite"
)

// engineSuite is the engine's test suite for drivers.
type engineSuite struct{ *testsuites.DriverSuite }

func (s engineSuite) TestWriteReadLargeStreams() {
	s.T().Skip("it repeats TestWriteReadStreams with 5 GiB")
}

func TestDriver(t *testing.T) {
	t.Parallel() // it sleeps for 15 s, until a timestamp changes
	dir := t.TempDir()
	open := func() (storagedriver.StorageDriver, error) { return Open(dir) }
	suite.Run(t, &engineSuite{&testsuites.DriverSuite{Constructor: open}})
}
