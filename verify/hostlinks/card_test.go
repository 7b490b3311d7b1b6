package hostlinks

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Values of ethtool.h.
const (
	halfDuplex  = 0
	fullDuplex  = 1
	setSettings = 2 // ETHTOOL_SSET
)

// ethtoolCommand is struct ethtool_cmd.
type ethtoolCommand struct {
	command uint32
	_       [2]uint32 // supported, advertising
	speed   uint16
	duplex  uint8
	_       [29]byte // port to reserved
}

// newCard creates an interface with a speed and a duplex like a network card, until the test ends. Its other end
// is this process, which reads nothing.
func newCard(t *testing.T, name string, speed uint16, duplex uint8) {
	t.Helper()
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	request, err := unix.NewIfreq(name)
	require.NoError(t, err)
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	require.NoError(t, unix.IoctlIfreq(fd, unix.TUNSETIFF, request))

	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(socket)
	command := ethtoolCommand{command: setSettings, speed: speed, duplex: duplex}
	settings := struct {
		name    [unix.IFNAMSIZ]byte
		command *ethtoolCommand
		_       [16]byte
	}{command: &command}
	copy(settings.name[:], name)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(socket), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&settings)))
	require.Zero(t, errno, errno.Error())
}
