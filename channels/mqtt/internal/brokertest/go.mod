// Module brokertest tests package mqtt with a broker. It is not part of the library.
module github.com/rollcall-dev/rollcall/channels/mqtt/internal/brokertest

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/google/uuid v1.6.0
	github.com/mochi-mqtt/server/v2 v2.7.9
	github.com/rollcall-dev/rollcall v0.0.0
)

require (
	github.com/eclipse/paho.golang v0.23.0 // indirect
	github.com/gorilla/websocket v1.5.3 // indirect
	github.com/rs/xid v1.4.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace github.com/rollcall-dev/rollcall => ../../../..
