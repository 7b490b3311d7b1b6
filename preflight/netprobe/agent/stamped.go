package agent

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stamped reads the packets of a socket with the times of the kernel. An agent reads two sockets in any order,
// so its own time would show some answers before their requests.
type stamped struct {
	raw  syscall.RawConn
	oob  []byte
	last []byte // control messages of the last packet
	from unix.Sockaddr
}

// timespecSize is the size of struct timespec on 64-bit platforms.
const timespecSize = 16

func newStamped(conn syscall.Conn) (*stamped, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var errSet error
	err = raw.Control(func(fd uintptr) { errSet = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) })
	if err = cmp.Or(err, os.NewSyscallError("setsockopt", errSet)); err != nil {
		return nil, fmt.Errorf("turn on the times of packets: %w", err)
	}
	return &stamped{raw: raw, oob: make([]byte, unix.CmsgSpace(timespecSize))}, nil
}

// read returns the length of the next packet. A longer packet than b is cut.
func (s *stamped) read(b []byte) (int, error) {
	var n, oobn int
	var errRead error
	err := s.raw.Read(func(fd uintptr) bool {
		n, oobn, _, s.from, errRead = unix.Recvmsg(int(fd), b, s.oob, unix.MSG_DONTWAIT)
		return errRead != unix.EAGAIN && errRead != unix.EINTR
	})
	if err = cmp.Or(err, os.NewSyscallError("recvmsg", errRead)); err != nil {
		return 0, err
	}
	s.last = s.oob[:oobn]
	return n, nil
}

// direction is the type of the last packet: unix.PACKET_OUTGOING, unix.PACKET_HOST, or another one.
func (s *stamped) direction() int {
	if link, is := s.from.(*unix.SockaddrLinklayer); is {
		return int(link.Pkttype)
	}
	return unix.PACKET_OTHERHOST
}

// at is the time of the last packet.
func (s *stamped) at() time.Time {
	messages, err := unix.ParseSocketControlMessage(s.last)
	if err == nil {
		for _, m := range messages {
			if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPNS && len(m.Data) >= timespecSize {
				return time.Unix(int64(binary.NativeEndian.Uint64(m.Data)), int64(binary.NativeEndian.Uint64(m.Data[8:]))).UTC()
			}
		}
	}
	return time.Now().UTC()
}
