/// <reference lib="esnext.disposable" preserve="true" />
/// <reference types="node" preserve="true" />

export type { ChatServerOptions } from "./chat/chat-options.js";
export { type ChatServer, createChatServer } from "./chat/chat-server.js";
