// How long the page waits for an answer of the server before it says that none came.

const ANSWER_MS = 60000; // a server that is busy answers within seconds
const LONG_ANSWER_MS = 180000; // where a checkpoint may have to be downloaded first
